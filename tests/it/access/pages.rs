//! Signing in to the pages.

use axum::body::Body;
use axum::http::Request;
use unroof_store::access::Scope;

use super::{get, key, send, service};
use crate::support::{Api, Reply, on_each_database};

/// A form as a browser sends it from a site.
pub(super) async fn form(api: &Api, path: &str, site: &str, cookie: &str, body: &str) -> Reply {
    let request = Request::post(path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", site)
        .header("cookie", cookie);
    api.send(request.body(Body::from(body.to_owned())).unwrap())
        .await
}

async fn page(api: &Api, path: &str, cookie: &str) -> Reply {
    let headers = [("cookie", cookie)];
    api.ask(axum::http::Method::GET, path, &headers).await
}

#[tokio::test]
async fn a_browser_signs_in_with_a_key_and_stays_so_until_it_is_revoked() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        let reader = key(&store, "reader", Scope::Read).await;
        let refused = api.get("/ui/").await;
        assert_eq!(refused.status, 401);
        let challenge = Some("Bearer realm=\"unroof\"");
        assert_eq!(refused.header("www-authenticate"), challenge);
        assert!(
            refused.text().contains("href=\"/ui/sign-in\""),
            "{}",
            refused.text()
        );
        assert!(
            api.get("/ui/sign-in")
                .await
                .text()
                .contains("type=\"password\"")
        );

        let wrong = form(
            &api,
            "/ui/sign-in",
            "same-origin",
            "",
            "key=unroof_x&next=%2Fui%2Ftruth",
        )
        .await;
        assert_eq!(wrong.status, 401);
        assert!(wrong.text().contains("the key is unknown or was revoked"));
        assert!(
            wrong.text().contains("value=\"/ui/truth\""),
            "{}",
            wrong.text()
        );
        let body = format!("key={reader}&next=%2Fui%2Ftruth");
        let other = form(&api, "/ui/sign-in", "cross-site", "", &body).await;
        assert_eq!(other.status, 403);
        let entered = form(&api, "/ui/sign-in", "same-origin", "", &body).await;
        assert_eq!(entered.status, 303, "{}", entered.text());
        assert_eq!(entered.header("location"), Some("/ui/truth"));
        let cookie = entered.header("set-cookie").unwrap();
        for flag in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
            assert!(cookie.contains(flag), "{cookie}");
        }
        assert!(!cookie.contains(&reader), "the cookie is the key");
        let cookie = cookie.split(';').next().unwrap();
        assert_eq!(page(&api, "/ui/truth", cookie).await.status, 200);
        assert_eq!(page(&api, "/ui/try", cookie).await.status, 403);

        let keys = get(&api, "/keys", &admin).await.rows();
        assert_eq!(keys.len(), 2, "a session is no key of the list");
        let reading = keys.iter().find(|key| key["scope"] == "read").unwrap();
        let id = reading["id"].as_str().unwrap();
        let path = format!("/keys/{id}");
        send(
            &api,
            axum::http::Method::DELETE,
            &path,
            &admin,
            &serde_json::json!(null),
        )
        .await;
        assert_eq!(page(&api, "/ui/truth", cookie).await.status, 401);
    })
    .await;
}

#[tokio::test]
async fn a_key_has_at_most_twenty_sessions() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let desk = key(&store, "desk", Scope::Observe).await;
        let body = format!("key={desk}");
        for _ in 0..22 {
            let entered = form(&api, "/ui/sign-in", "same-origin", "", &body).await;
            assert_eq!(entered.status, 303);
        }
        let sessions = "SELECT count(*) FROM api_keys WHERE made_from IS NOT NULL";
        assert_eq!(database.number(sessions).await, 20);
    })
    .await;
}

#[tokio::test]
async fn a_page_of_another_site_cannot_write_with_the_cookie_nor_choose_where_it_leads() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let desk = key(&store, "desk", Scope::Observe).await;
        for elsewhere in [
            "https%3A%2F%2Fevil.example",
            "%2F%2Fevil.example",
            "%2Fui%2F%0d%0aX%3A1",
            "",
        ] {
            let body = format!("key={desk}&next={elsewhere}");
            let entered = form(&api, "/ui/sign-in", "same-origin", "", &body).await;
            assert_eq!(entered.header("location"), Some("/ui/"), "{elsewhere}");
        }
        let body = format!("key={desk}");
        let entered = form(&api, "/ui/sign-in", "same-origin", "", &body).await;
        let cookie = entered
            .header("set-cookie")
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        let sheet =
            url::form_urlencoded::byte_serialize(crate::support::sheet().to_string().as_bytes())
                .collect::<String>();
        let body = format!("sheet={sheet}&store=yes");
        let other = form(&api, "/ui/try", "cross-site", &cookie, &body).await;
        assert_eq!(other.status, 403, "{}", other.text());
        let own = form(&api, "/ui/try", "same-origin", &cookie, &body).await;
        assert_eq!(own.status, 200, "{}", own.text());
        assert_eq!(
            database
                .number("SELECT count(*) FROM audit WHERE action = 'sheet.observed'")
                .await,
            1
        );

        let left = form(&api, "/ui/sign-out", "same-origin", &cookie, "").await;
        assert_eq!(left.status, 303);
        assert!(left.header("set-cookie").unwrap().contains("Max-Age=0"));
        assert_eq!(page(&api, "/ui/", &cookie).await.status, 401);
    })
    .await;
}
