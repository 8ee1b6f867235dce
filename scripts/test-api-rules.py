"""What schemathesis must know beyond the API document, because a schema cannot say it. scripts/test-api loads this.

Every check stays on. Requests that are meant to be right are put right where two parts of them belong together, and
where one is refused all the same, that is accepted only if every fault that the answer names is listed here.
"""

import re
import sys

import schemathesis

# Rules between fields, or with lists that no schema holds, as `POINTER: DETAIL`.
RULES = [
    # One value bounds another.
    r".*: `(low|active_parameters)` is above `(high|total_parameters)`",
    r".*/valid_to: `valid_to` is not after `valid_from`",
    r"/grid/(batch|context_tokens): the axis ends before it begins",
    r"/price_sheet(/thresholds_tokens)?: the threshold .* is not below the longest context .*",
    r"/price_sheet/(thresholds_tokens|cache_ttls_seconds): the values do not rise",
    r"/load/accepted_tokens_per_step: .* is not a number from 1 to .*",
    r"/load(/batch)?: a batch of .* sequences over all chips",
    r"/model(/active_parameters)?: more active than total parameters",
    r"/model/always_read_parameters: a part has as many parameters as the whole model",
    r"/model/input_embedding_parameters: the input embedding has as many parameters as the whole model",
    r"/model: .* routed experts per token cannot make .* active",
    r"/model: .* parameters .*do not go with .* active of .*",
    r"/model/experts/(active|layers): .* is not a whole number from 1 to .*",
    r"/model/attention/\d+: .* query heads cannot share .* KV heads evenly",
    r"/model/experts(/routed)?: .* experts per token cannot make .* active",
    r"/model/experts(/layers)?: .* layers have experts and the model has .*",
    r"/model/experts/(routed|active|layers): all parameters are active, so that there are no experts",
    r"/model(/total_parameters)?: the stated parameters do not go with .* the configuration",
    r"/model/config.*",
    r"/load/cached_input_tokens: .* prompt tokens are cached",
    r"/load/cache_hit_rate: the cached part of a prompt is stated in two ways",
    r"/machine(/chips)?: .* chips do not make .* stages of as many each",
    r"/layout/chips_per_stage: the chips of a stage are those of the machine over the stages",
    r"/layout(/pipeline_stages)?: .* stages need a layer each and the model has .*",
    r"/layout/pipeline_stages_grid/\d+: .* is not a whole number from 1 to .*",
    r"(/spread)?: a dense model has no experts to distribute",
    # One value excludes or needs another.
    r"/load(/batch)?: the batch is stated in more than one way",
    r"/grid: a grid of .* points",
    r".*/cache_write/\d+: a second price for the same time to live",
    r".*/rates/\d+: a second cell for the same service tier, context tier and schedule",
    r".*/rates/\d+/schedule: the schedule `.*` is not defined",
    r".*/rates/\d+/source: .* is not a whole number from 0 to .*",
    r"/assumptions/speed_multiplier.*: `speed_multiplier` names the service tier `.*`, which the sheet does not have",
    r"/price_sheets: the first sheet names no `canonical_model`",
    r"/price_sheets: sheet \d+ is of .*, the first one of `.*`",
    r": there (is neither an offer nor|are both an offer and) a sheet",
    r"/usage(/input_tokens)?: .* tokens, (of which|where) .*",
    r"/usage(/reasoning_tokens)?: .* reasoning tokens among .*",
    r": a sheet with assumptions is a question, not an observation of a price",
    r".*/capacity_offers/\d+: a second offer of the same name",
    r"/providers: a key of this scope writes no prices",
    r"/providers: an admin makes keys without limits",
    r"/(prefill_)?machine(/accelerator)?: `all` is not one accelerator",
    r"/(prefill_)?machine(/rental_usd_per_hour)?: the rent is stated in two ways",
    r"/(prefill_)?machine/owned: the cost of an own chip needs its price",
    r"(/tensor)?: every matrix is cut over all chips already",
    r"(/tensor)?: .* chips are not groups of .*",
    r"/load(/tokens_per_day)?: the tokens of a day determine .*",
    r"/load/tokens_per_day/cached_input_tokens: .* tokens are found in the cache",
    r": this request would take about .* of computing, and one request may take .*",
    r"/machine/accelerator: figures of a chip are those of one accelerator",
    r"/measured(/.*)?: the field `.*` is missing",
    # Addresses to which nothing is sent.
    r"/url: (it is not a URL|it is too long|the address is not a public one)",
    # A list that the document does not hold, and an open object.
    r".*/timezone: `.*` is not a time zone",
    r"(/entry)?: the entry has no token price.*",
    r".*/(schedules|service_tiers): \d+ entries",
    r": invalid query string: `sort` names `.*`, by which no row can be sorted",
    r": the catalog has no usable offer of the provider `.*`",
    r": the catalog's format is not recognised.*",
    r": invalid query string: `.*` is not a (canonical name|quantity)",
    r": invalid query string: \d+ models",
    r": line \d+, column \d+: a text holds the NUL character",
    # Texts with a meaning: names, and addresses of networks.
    r"/(name|networks/\d+|providers/\d+): (a text of 0 characters|a text with control characters|not a network)",
    r": invalid query string: a value contains the NUL character",
    # The time at which a request arrives.
    r": invalid query string: `observed_at` is in the future",
]

# Rules of one route: each chart has some of the parameters.
RULES_OF = {"/charts/{chart}": [r": invalid query string: unknown field `.*`"]}

# Cursors that lists gave, by list and order, and fields of their rows.
cursors = {}
fields = {}


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """Lines are a text; one that is made up is rarely JSON, which the answer says line by line."""
    return value if isinstance(value, bytes) else str(value).encode()


def is_meant_right(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    """An entry goes with `format` and `model`, a catalog with its format or none; a cursor is one that its list gave in
    this order, and fields are some that its rows have."""
    if not is_meant_right(case):
        return
    if case.path == "/infer" and isinstance(case.body, dict):
        case.query.pop("format", None)
        model = case.query.pop("model", "gpt-5.4")
        if "entry" in case.body or "litellm_provider" in case.body:
            case.query.update({"format": "litellm", "model": model})
    elif case.path == "/catalogs":
        case.query.pop("format", None)
    if "cursor" in case.query:
        replace(case.query, "cursor", cursors.get(list_of(case)))
    if "fields" in case.query:
        known = fields.get(case.path, [])
        replace(case.query, "fields", ",".join(known[: 1 + len(case.query["fields"])]))


def list_of(case):
    return case.path, case.query.get("sort"), case.query.get("order")


def replace(query, name, value):
    """Another value of a parameter; without one, it is left out."""
    del query[name]
    if value:
        query[name] = value


@schemathesis.hook
def after_call(context, case, response):
    """Remembers the cursors of lists and the fields of their rows."""
    if response.status_code == 200 and response.headers.get("content-type", [""])[0].startswith("application/json"):
        page = response.json()
        if isinstance(page, dict) and page.get("next_cursor"):
            cursors[list_of(case)] = page["next_cursor"]
        rows = page.get("data") if isinstance(page, dict) else None
        if rows and "fields" not in case.query:
            fields[case.path] = list(rows[0])


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """A request that is meant to be right may be refused by the rules above and by no other: what has none is printed."""
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code not in (400, 422):
        return True
    problem = response.json()
    faults = problem.get("errors") or [{"pointer": "", "detail": problem["detail"]}]
    reported = [f"{fault['pointer']}: {fault['detail']}" for fault in faults]
    rules = RULES + RULES_OF.get(case.path, [])
    unknown = [fault for fault in reported if not any(re.fullmatch(rule, fault, re.DOTALL) for rule in rules)]
    for fault in unknown:
        print(f"no rule of {case.method} {case.path}: {fault}", file=sys.stderr)
    return bool(unknown)
