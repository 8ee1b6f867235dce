//! Tables brought up to date by several at once.

use std::collections::BTreeSet;

use unroof_store::{ChangeKind, DeliveryState, ImportOutcome, NameKind, Store, StoreLimits};

use crate::server::{run_with, unroof};
use crate::support::{TestDatabase, on_each_database, on_each_database_blocking, on_postgres};

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_migrate_at_once_all_start() {
    on_each_database(async |database: &TestDatabase| {
        let starts: Vec<_> = (0..8)
            .map(|_| {
                let url = database.url.parse().unwrap();
                tokio::spawn(async move {
                    let store = Store::open(&url, StoreLimits::default()).await?;
                    store.migrate().await?;
                    store.version().await
                })
            })
            .collect();
        for start in starts {
            start.await.unwrap().unwrap();
        }
        // Again, on tables that are up to date.
        database.store().await.migrate().await.unwrap();
    })
    .await;
}

#[test]
fn processes_that_migrate_at_once_all_end_well() {
    on_each_database_blocking(|database| {
        std::thread::scope(|scope| {
            let starts: Vec<_> = (0..6)
                .map(|_| {
                    scope.spawn(|| {
                        run_with(
                            &mut unroof(&["migrate", "--database-url", &database.url]),
                            "",
                        )
                    })
                })
                .collect();
            for start in starts {
                let ended = start.join().unwrap();
                assert_eq!(ended.code, Some(0), "{}: {}", database.name, ended.err);
                assert!(ended.out.starts_with("the tables of "), "{}", ended.out);
            }
        });
    });
}

/// Objects that both databases must have: a query for PostgreSQL and one for SQLite, which give the same texts.
const SAME: [(&str, &str, &str); 5] = [
    (
        "columns",
        "SELECT table_name || '.' || column_name || ' ' || CASE data_type
                    WHEN 'uuid' THEN 'blob' WHEN 'bytea' THEN 'blob' WHEN 'bigint' THEN 'integer' WHEN 'integer' THEN 'integer'
                    WHEN 'boolean' THEN 'integer' WHEN 'double precision' THEN 'real' ELSE 'text' END
                || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END || coalesce(' default ' || column_default, '')
         FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
         WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT LIKE '!_sqlx%' ESCAPE '!'",
        "SELECT tables.name || '.' || columns.name || ' ' || lower(columns.type)
                || CASE WHEN columns.\"notnull\" OR columns.pk > 0 THEN ' not null' ELSE '' END
                || coalesce(' default ' || replace(columns.dflt_value, 'x''''', '''\\x''::bytea'), '')
         FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
         WHERE tables.type = 'table' AND tables.name NOT LIKE '!_sqlx%' ESCAPE '!'",
    ),
    (
        "foreign keys",
        "SELECT conrelid::regclass || '.' || attname || ' refers to ' || confrelid::regclass
                || CASE confdeltype WHEN 'c' THEN ', CASCADE' ELSE ', NO ACTION' END
         FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
         WHERE contype = 'f' AND connamespace = 'public'::regnamespace",
        "SELECT tables.name || '.' || keys.\"from\" || ' refers to ' || keys.\"table\" || ', ' || keys.on_delete
         FROM sqlite_master AS tables JOIN pragma_foreign_key_list(tables.name) AS keys WHERE tables.type = 'table'",
    ),
    (
        "keys",
        "SELECT conrelid::regclass || ' ' || contype::text || ' ' || attname
         FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
         WHERE contype IN ('p', 'u') AND connamespace = 'public'::regnamespace AND conrelid::regclass::text NOT LIKE '!_sqlx%' ESCAPE '!'",
        "SELECT tables.name || ' p ' || columns.name
         FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
         WHERE tables.type = 'table' AND columns.pk > 0 AND tables.name NOT LIKE '!_sqlx%' ESCAPE '!'
         UNION ALL
         SELECT tables.name || ' u ' || columns.name
         FROM sqlite_master AS tables JOIN pragma_index_list(tables.name) AS indexes
         JOIN pragma_index_info(indexes.name) AS columns
         WHERE tables.type = 'table' AND indexes.origin = 'u' AND tables.name NOT LIKE '!_sqlx%' ESCAPE '!'",
    ),
    (
        "indexes",
        "SELECT indexrelid::regclass || ' ' || attnum || ' '
                || CASE indkey[attnum - 1] WHEN 0 THEN 'an expression' ELSE pg_get_indexdef(indexrelid, attnum, true) END
                || CASE WHEN indpred IS NULL THEN '' ELSE ' in part' END
         FROM pg_index JOIN pg_attribute ON attrelid = indexrelid JOIN pg_class ON pg_class.oid = indexrelid
         WHERE (NOT indisunique OR indpred IS NOT NULL) AND relnamespace = 'public'::regnamespace",
        "SELECT indexes.name || ' ' || (columns.seqno + 1) || ' ' || coalesce(columns.name, 'an expression')
                || CASE WHEN indexes.partial THEN ' in part' ELSE '' END
         FROM sqlite_master AS tables JOIN pragma_index_list(tables.name) AS indexes
         JOIN pragma_index_info(indexes.name) AS columns
         WHERE tables.type = 'table' AND indexes.origin = 'c'",
    ),
    (
        "views",
        "SELECT table_name || '.' || column_name || ' ' || ordinal_position
         FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
         WHERE table_schema = 'public' AND table_type = 'VIEW'",
        "SELECT views.name || '.' || columns.name || ' ' || (columns.cid + 1)
         FROM sqlite_master AS views JOIN pragma_table_info(views.name) AS columns WHERE views.type = 'view'",
    ),
];

/// `CHECK` constraints of columns with a list of values.
const LISTS: (&str, &str) = (
    "SELECT conrelid::regclass || ': ' || pg_get_constraintdef(oid) FROM pg_constraint
     WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND pg_get_constraintdef(oid) LIKE '%''%'",
    "SELECT name || ': ' || sql FROM sqlite_master WHERE sql LIKE '%CHECK (% IN (%'",
);

/// The table, and the values that it allows.
fn allowed(constraint: &str) -> (String, Vec<String>) {
    let (table, definition) = constraint.split_once(": ").unwrap();
    let (_, list) = definition.split_once("CHECK (").unwrap();
    let list = list.split("))").next().unwrap();
    let values = list.split('\'').skip(1).step_by(2);
    (table.to_owned(), values.map(str::to_owned).collect())
}

fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<String> {
    all.iter().map(|one| name(*one).to_owned()).collect()
}

/// The statements of a migration that make views, but for that of spellings, which reads JSON in the way of each database.
fn views(migration: &str) -> Vec<&str> {
    let statements = migration.split(";\n");
    let views = statements.filter_map(|statement| Some(statement.split_once("CREATE VIEW ")?.1));
    views
        .filter(|view| !view.starts_with("spellings "))
        .collect()
}

#[test]
fn both_databases_define_their_views_by_the_same_text() {
    let on_postgres = include_str!("../../../migrations/postgres/0001_tables.sql");
    let on_sqlite = include_str!("../../../migrations/sqlite/0001_tables.sql");
    assert_eq!(views(on_postgres), views(on_sqlite));
    assert_eq!(views(on_sqlite).len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_databases_have_the_same_columns_keys_indexes_checks_and_views() {
    on_postgres(async |postgres: &TestDatabase| {
        let sqlite = TestDatabase::sqlite();
        for database in [postgres, &sqlite] {
            database.store().await.close().await;
        }
        for (what, of_postgres, of_sqlite) in SAME {
            let on_postgres = BTreeSet::from_iter(postgres.texts(of_postgres).await);
            let on_sqlite = BTreeSet::from_iter(sqlite.texts(of_sqlite).await);
            assert!(!on_postgres.is_empty(), "{what}");
            let differing: Vec<_> = on_postgres.symmetric_difference(&on_sqlite).collect();
            assert!(differing.is_empty(), "{what}: {differing:#?}");
        }
        let lists = [postgres.texts(LISTS.0).await, sqlite.texts(LISTS.1).await];
        let lists = lists.map(|list| list.iter().map(|one| allowed(one)).collect::<BTreeSet<_>>());
        let words = [
            ("changes", names(ChangeKind::ALL, ChangeKind::name)),
            ("names", names(NameKind::ALL, NameKind::name)),
            ("imports", names(ImportOutcome::ALL, ImportOutcome::name)),
            (
                "webhook_deliveries",
                names(DeliveryState::ALL, DeliveryState::name),
            ),
        ];
        let words = BTreeSet::from(words.map(|(table, words)| (table.to_owned(), words)));
        assert_eq!(lists, [words.clone(), words]);
    })
    .await;
}
