// Uses the client that openapi-typescript makes of the API document: node use-client.ts ADDRESS

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

declare const process: { argv: string[] };

function check(holds: unknown, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

const api = createClient<paths, "application/json" | "application/problem+json">({ baseUrl: process.argv[2] ?? "" });

// A cell need not name its basis, nor a sheet its region.
const sheet: components["schemas"]["PriceSheetRequest"] = {
  schema: "pricesheet/v1",
  provider: "typescript",
  model: "m-1",
  currency: "USD",
  unit: "per_1m_tokens",
  rates: [{ input: "1.25", output: "10.00" }],
  sources: [{ url: "https://acme.example/prices", format: "official" }],
};

const inferred = await api.POST("/infer", { body: sheet });
check(inferred.response.status === 201, `infer: ${JSON.stringify(inferred.error)}`);
// With `fields` in the query it would be of another type.
const answer = inferred.data as components["schemas"]["InferAnswer"];
check(answer.price_sheets[0]?.model === "m-1", "infer: the model");
check(answer.quantities.active_parameters.median! > 0, "infer: the estimate");

const latest = await api.GET("/estimates/latest", { params: { query: { provider: "typescript" } } });
const row = latest.data?.data[0];
check(row && row.id === answer.id, "latest: the estimate");
check(row.active_parameters_median! > 0, "latest: the median");

const sheets = await api.GET("/price-sheets", { params: { query: { provider: "typescript", limit: 1 } } });
const id = sheets.data?.data[0]?.id;
check(id !== undefined, "price sheets: a row");
const shown = await api.GET("/price-sheets/{id}", { params: { path: { id } } });
const basis: components["schemas"]["Basis"] | undefined = shown.data?.rates[0]?.basis;
check(basis === "stated", "price sheet: the basis of an answer");

const offer = { provider: "typescript", model: "m-1" };
const usage = { input_tokens: 1_000_000, output_tokens: 100_000 };
const cost = await api.POST("/cost", { body: { offer, usage } });
check(cost.data?.total === "2.25", `cost: ${JSON.stringify(cost.data ?? cost.error)}`);
const ndjson = createClient<paths, "application/x-ndjson">({ baseUrl: process.argv[2] ?? "" });
const lines = await ndjson.POST("/cost", {
  body: `${JSON.stringify({ offer, usage })}\n`,
  headers: { "content-type": "application/x-ndjson" },
  bodySerializer: (body) => body,
  parseAs: "text",
});
const last: components["schemas"]["CostEntry"] = JSON.parse(String(lines.data).trim().split("\n").at(-1) ?? "");
check(last.type === "done" && last.priced === 1, `cost of a list: ${lines.data}`);

const wrong = await api.GET("/estimates/latest", { params: { query: { limit: 0 } } });
check(wrong.response.status === 400 && wrong.error?.type === "/problems/unreadable", "a wrong query");
const faulty = await api.POST("/infer", { body: { ...sheet, rates: [{ input: "a lot" }] } });
check(faulty.response.status === 422 && faulty.error?.errors?.[0]?.pointer === "/rates/0/input", "a wrong body");
console.log("openapi-typescript: 8 requests as they must be");
