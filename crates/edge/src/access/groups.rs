//! Groups of an identity provider, and the scopes of their members.

use std::str::FromStr;

use unroof_store::access::{Scope, UnknownScope};

/// The scope of a group's members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupScope {
    group: String,
    scope: Scope,
}

impl FromStr for GroupScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (group, scope) = text
            .rsplit_once('=')
            .filter(|(group, _)| !group.trim().is_empty())
            .ok_or("write a group and its scope, such as analysts=ask")?;
        let scope = scope
            .parse()
            .map_err(|unknown: UnknownScope| unknown.to_string())?;
        let group = group.trim().to_owned();
        Ok(Self { group, scope })
    }
}

/// The scopes of all groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupScopes(Vec<GroupScope>);

impl FromIterator<GroupScope> for GroupScopes {
    fn from_iter<I: IntoIterator<Item = GroupScope>>(groups: I) -> Self {
        Self(groups.into_iter().collect())
    }
}

impl GroupScopes {
    /// Whether no group has a scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The widest scope of a user's groups, which are separated by commas; none if no group has one.
    #[must_use]
    pub fn scope_of(&self, groups: &str) -> Option<Scope> {
        let of = |name: &str| {
            let mut known = self.0.iter();
            let known = known.find(|known| known.group == name);
            known.map(|known| known.scope)
        };
        groups.split(',').filter_map(|name| of(name.trim())).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_widest_scope_of_the_groups() {
        let groups = ["analysts=ask", "desk = x=observe", "all=read"];
        let groups: GroupScopes = groups.iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(groups.scope_of("all, analysts"), Some(Scope::Ask));
        assert_eq!(groups.scope_of("desk = x"), Some(Scope::Observe));
        assert_eq!(groups.scope_of("Analysts,guests"), None);
        assert_eq!(groups.scope_of(""), None);
        for wrong in ["analysts", "=ask", "analysts=write"] {
            assert!(wrong.parse::<GroupScope>().is_err(), "{wrong}");
        }
    }
}
