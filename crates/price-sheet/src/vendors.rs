//! Vendors under the names by which catalogs, price files and families of models know them.
//!
//! ```
//! use unroof_price_sheet::vendors::{is_known_vendor, vendor};
//!
//! assert_eq!(vendor("Google Vertex"), vendor("gemini"));
//! assert_eq!(vendor("moonshotai-cn"), "moonshotai");
//! assert!(!is_known_vendor("acme"));
//! ```

/// Names of one vendor in each line: the first one is its name here, the others are names of sellers, of authors and of
/// families of models by which it is also known. The marks of regions at the end of a seller's name, such as `-cn`, are left
/// out.
const VENDORS: &str = "\
alibaba alibaba-cloud aliyun bailian dashscope qwen
allenai ai2 olmo
amazon amazon-bedrock aws bedrock nova
anthropic claude
baidu qianfan wenxin
bytedance bytedance-seed volcengine ark doubao
databricks dbrx mosaicml
deepseek deepseek-ai
google gemini gemma google-ai-studio google-vertex google-vertex-anthropic vertex vertex-ai vertexai
ibm granite ibm-granite watsonx
meituan longcat meituan-longcat
meta llama meta-llama
microsoft azure azure-ai azure-cognitive-services azure-openai phi
minimax minimaxai
mistral mistralai
moonshotai kimi moonshot
nvidia nemotron nvidia-nim
openai gpt gpt-oss
sensetime sensenova
stepfun step stepfun-ai
tencent tencent-cloud
together together-ai togetherai
xai grok x-ai
zhipuai bigmodel glm thudm z-ai zai zai-org zhipu
";

/// Words at the end of a seller's name that name its region or the plan that it sells.
const REGIONS: &str = "-cn -china -coding-plan -eu -global -intl -us -international";

/// The vendor of that name, as it is called here; a name that is not known stays as it is, in small letters and without
/// the mark of its region.
#[must_use]
pub fn vendor(name: &str) -> String {
    let lower = name.trim().to_lowercase().replace([' ', '_'], "-");
    let mut plain = lower.as_str();
    while let Some(shorter) = REGIONS
        .split(' ')
        .find_map(|region| plain.strip_suffix(region))
        .filter(|shorter| !shorter.is_empty())
    {
        plain = shorter;
    }
    known(plain).unwrap_or(plain).to_owned()
}

/// Whether the table knows a vendor of that name.
#[must_use]
pub fn is_known_vendor(name: &str) -> bool {
    known(&vendor(name)).is_some()
}

/// The vendor whose names include this one.
fn known(name: &str) -> Option<&'static str> {
    let mut vendors = VENDORS.lines().map(|names| names.split(' '));
    vendors
        .find(|names| names.clone().any(|known| known == name))?
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_is_one_under_all_of_its_names() {
        let same = [
            ["alibaba", "dashscope"],
            ["alibaba-cn", "qwen"],
            ["zai", "z-ai"],
            ["zhipuai-cn", "zai-coding-plan"],
            ["moonshot", "moonshotai-cn"],
            ["Google Vertex", "gemini"],
        ];
        for [left, right] in same {
            assert_eq!(vendor(left), vendor(right), "{left}, {right}");
        }
        assert_ne!(vendor("zai"), vendor("moonshotai"));
    }

    #[test]
    fn a_name_that_is_not_known_stays_its_own() {
        assert_eq!(vendor("Acme-CN"), "acme");
        assert_eq!(vendor("-cn"), "-cn");
        assert!(is_known_vendor("Z-AI") && !is_known_vendor("acme"));
    }

    #[test]
    fn no_name_belongs_to_two_vendors() {
        let mut names: Vec<&str> = VENDORS.split_whitespace().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
