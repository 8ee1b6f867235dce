"""Uses the client that openapi-python-client makes of the API document: python use_client.py ADDRESS"""

import json
import sys

from unroof_client import Client
from unroof_client.api.estimates import infer_price_sheet, list_latest_estimates
from unroof_client.api.price_sheets import list_price_sheets, price_usage, show_price_sheet
from unroof_client.models import CostEntryCost, CostEntryDone, CostRequest
from unroof_client.models import PagePartialPriceSheetRow, PagePriceSheetRow, PriceSheetRequest, Problem, ProblemType
from unroof_client.types import UNSET

# A cell need not name its basis, nor a sheet its region.
SHEET = {
    "schema": "pricesheet/v1",
    "provider": "python",
    "model": "m-1",
    "currency": "USD",
    "unit": "per_1m_tokens",
    "rates": [{"input": "1.25", "output": "10.00"}],
    "sources": [{"url": "https://acme.example/prices", "format": "official"}],
}
USED = {
    "offer": {"provider": "python", "model": "m-1"},
    "usage": {"input_tokens": 1_000_000, "output_tokens": 100_000},
}

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)

inferred = infer_price_sheet.sync_detailed(client=client, body=PriceSheetRequest.from_dict(SHEET))
assert inferred.status_code == 201, inferred
assert inferred.parsed.price_sheets[0].model == "m-1", inferred
assert inferred.parsed.quantities.active_parameters.median > 0, inferred

latest = list_latest_estimates.sync(client=client, provider="python")
assert [row.id for row in latest.data] == [inferred.parsed.id], latest
assert latest.data[0].active_parameters_median > 0, latest

sheets = list_price_sheets.sync(client=client, provider="python", limit=1)
assert isinstance(sheets, PagePriceSheetRow), sheets
shown = show_price_sheet.sync(sheets.data[0].id, client=client)
assert shown.rates[0].basis == "stated" and shown.region == "global", shown

# With `fields`, a page is of another type.
some = list_price_sheets.sync(client=client, provider="python", fields="model,output_per_mtok")
assert isinstance(some, PagePartialPriceSheetRow), some
assert [(row.model, row.output_per_mtok, row.id) for row in some.data] == [("m-1", 10, UNSET)], some

cost = price_usage.sync(client=client, body=CostRequest.from_dict(USED))
assert cost.total == "2.25", cost

# The function above reads one media type of an answer, which is JSON: a list goes through the same client, and the
# types are those of the document.
lines = client.get_httpx_client().post(
    "/cost",
    content="".join(json.dumps({**USED, "id": number}) + "\n" for number in ("one", "two")),
    headers={"content-type": "application/x-ndjson"},
)
*priced, done = [json.loads(line) for line in lines.text.splitlines()]
costs = [CostEntryCost.from_dict(line).cost for line in priced]
assert [(cost.id, cost.total) for cost in costs] == [("one", "2.25"), ("two", "2.25")], lines.text
assert CostEntryDone.from_dict(done).priced == 2, lines.text

wrong = list_latest_estimates.sync_detailed(client=client, limit=0)
assert wrong.status_code == 400 and isinstance(wrong.parsed, Problem), wrong
assert wrong.parsed.type_ == ProblemType.UNREADABLE, wrong
faulty = PriceSheetRequest.from_dict({**SHEET, "rates": [{"input": "a lot"}]})
refused = infer_price_sheet.sync_detailed(client=client, body=faulty)
assert refused.status_code == 422 and refused.parsed.errors[0].pointer == "/rates/0/input", refused
print("openapi-python-client: 9 requests as they must be")
