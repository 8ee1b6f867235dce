"""Ten published measurements of serving: measured, by unroof, by aiconfigurator 0.12; the ranking for one question; and the best
plans for ten questions.

The cases are those of `crates/roofline/data/peer_times.csv`. unroof is asked through its command: `UNROOF` names the program, else the
one of the last build is taken. Skipped with one line where aiconfigurator is not installed.
"""

import contextlib
import csv
import io
import json
import logging
import math
import os
import pathlib
import statistics
import subprocess
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "crates/roofline/data/peer_times.csv"
PASS_TOKENS = 16_384
SYSTEMS = {"h100-sxm": "h100_sxm", "h200-sxm": "h200_sxm", "b200-sxm": "b200_sxm"}
# Llama-3.1-70B fp8 on 8 H100, 4,096 in, 1,024 out, 25 ms per token, 1 s to the first.
QUESTION = ["plan", "--model", "Llama-3.1-70B", "--weight-bytes", "1", "--accelerator", "h100-sxm", "--chips", "8",
            "--input", "4096", "--output", "1024", "--ttft", "1", "--tpot", "0.025", "--json"]

# Models as both name them, chips, tokens in and out, limits in milliseconds: to the first token, and per token. Weights of 8 bits but
# for gpt-oss-120b, whose experts have 4.
QUESTIONS = [
    ("Llama-3.1-70B", "nvidia/Llama-3.1-70B-Instruct-FP8", 8, "h100-sxm", 4096, 1024, 1000, 25),
    ("Llama-3.1-70B", "nvidia/Llama-3.1-70B-Instruct-FP8", 8, "h200-sxm", 1024, 1024, 1000, 40),
    ("Qwen3-32B", "Qwen/Qwen3-32B-FP8", 8, "h100-sxm", 4096, 512, 1000, 25),
    ("Qwen3-32B", "Qwen/Qwen3-32B-FP8", 8, "b200-sxm", 2048, 1024, 500, 15),
    ("Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-FP8", 8, "h200-sxm", 2048, 512, 1000, 15),
    ("Qwen3-235B-A22B", "Qwen/Qwen3-235B-A22B-FP8", 16, "h200-sxm", 4096, 1024, 2000, 40),
    ("gpt-oss-120b", "openai/gpt-oss-120b", 8, "h100-sxm", 4096, 1024, 1000, 20),
    ("DeepSeek-V3", "deepseek-ai/DeepSeek-V3", 32, "h200-sxm", 4096, 1024, 3000, 50),
    ("DeepSeek-V3", "deepseek-ai/DeepSeek-V3", 32, "b200-sxm", 1024, 1024, 2000, 30),
    ("DeepSeek-V3", "deepseek-ai/DeepSeek-V3", 64, "h200-sxm", 8192, 1024, 5000, 50),
]


def program():
    built = [ROOT / "target" / kind / "unroof" for kind in ("release", "debug")]
    named = os.environ.get("UNROOF")
    found = named or next((str(path) for path in built if path.exists()), None)
    if found is None:
        raise SystemExit("build unroof first: cargo build --release")
    return found


def asked(arguments, text=None):
    done = subprocess.run([program(), *arguments], input=text, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ours(case):
    """A step, and for each of its tokens its share of a prompt, in milliseconds."""
    batch, prompt, output = (float(case[name]) for name in ("concurrency", "prompt_tokens", "output_tokens"))
    request = {
        "model": case["model"],
        "machine": {"accelerator": case["accelerator"], "chips": int(case["chips"])},
        "spread": "tensor",
        "precision": {
            "expert_bytes_per_parameter": float(case["weight_bytes_per_parameter"]),
            "other_bytes_per_parameter": float(case["other_bytes_per_parameter"]),
            "kv_bytes_per_element": float(case["kv_bytes_per_element"]),
        },
        "load": {"batch": batch, "context_tokens": prompt + output / 2, "input_tokens": prompt,
                 "prompts_per_pass": max(PASS_TOKENS / prompt, 1)},
    }
    answer = asked(["simulate", "-", "--json"], json.dumps(request))
    step_s = answer["decode"]["time"]["total_seconds"]
    prefill = answer["prefill"]
    prompt_s = prefill["time"]["total_seconds"] / prefill["prompts_per_pass"]
    return (step_s + batch * prompt_s / output) * 1e3


def quietly(call, **arguments):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return call(**arguments)


def theirs(case, estimate):
    """Milliseconds per generated token; None where its database has no such kernel."""
    chips = int(case["chips"])
    is_mixture = case["model"] in ("DeepSeek-V3", "gpt-oss-120b")
    experts = {"moe_tp_size": chips, "moe_ep_size": 1} if is_mixture else {}
    try:
        return quietly(
            estimate, model_path=case["aiconfigurator_model"], system_name=SYSTEMS[case["accelerator"]],
            backend_name=case["engine"], mode="agg", isl=int(case["prompt_tokens"]), osl=int(case["output_tokens"]),
            batch_size=int(case["concurrency"]), tp_size=chips, **experts).tpot
    except Exception as error:  # noqa: BLE001: the reason is printed
        print(f"aiconfigurator cannot answer {case['model']}: {str(error)[:120]}")
        return None


def layout(pool):
    own = pool["layout"]
    parts = [f"TP{own['tensor']}"] if own["expert"] == 1 or own["tensor"] > 1 else []
    parts += [f"EP{own['expert']}"] if own["expert"] > 1 else []
    parts += [f"PP{own['pipeline']}"] if own["pipeline"] > 1 else []
    return f"{round(pool['units'])} × {' '.join(parts)}"


def our_ranking(*more):
    answer = asked([*QUESTION, *more])
    for plan in answer["plans"][:4]:
        prefill = layout(plan["prefill"]) if plan["prefill"] else plan["serving"]
        speed = plan["output_tokens_per_second_per_chip"]
        print(f"  {plan['rank']}  {prefill:14} {layout(plan['decode']):10} {speed:7.1f} tok/s per chip")


def their_ranking(default):
    result = quietly(default, model_path="nvidia/Llama-3.1-70B-Instruct-FP8", total_gpus=8, system="h100_sxm", isl=4096,
                     osl=1024, ttft=1000.0, tpot=25.0)
    rows = []
    for kind, table in result.best_configs.items():
        for _, row in table.iterrows():
            rows.append((row["tokens/s/gpu_cluster"], kind, row))
    for place, (speed, kind, row) in enumerate(sorted(rows, key=lambda found: -found[0])[:4], 1):
        if kind == "disagg":
            shown = f"{row['(p)workers']} × TP{row['(p)tp']:<8} {row['(d)workers']} × TP{row['(d)tp']}"
        else:
            shown = f"the same       {8 // int(row['num_total_gpus'])} × TP{row['tp']}"
        print(f"  {place}  {shown:25} {speed:7.1f} tok/s per chip")


def their_best(question, default):
    """Generated tokens per second and chip of the best plan, with its engine; of the first engine whose kernels are known."""
    _, model, chips, system, prompt, output, first, token = question
    for engine in ("trtllm", "sglang", "vllm"):
        try:
            result = quietly(default, model_path=model, total_gpus=chips, system=SYSTEMS[system], backend=engine, isl=prompt,
                             osl=output, ttft=float(first), tpot=float(token))
        except (Exception, SystemExit):  # noqa: BLE001: another engine is asked
            continue
        speeds = [row["tokens/s/gpu_cluster"] for table in result.best_configs.values() for _, row in table.iterrows()]
        if speeds:
            return max(speeds), engine
    return None, "no engine"


def our_best(question):
    """Generated tokens per second and chip of the best plan, and the plan."""
    model, _, chips, system, prompt, output, first, token = question
    width = [] if model == "gpt-oss-120b" else ["--weight-bytes", "1"]
    answer = asked(["plan", "--model", model, *width, "--accelerator", system, "--chips", str(chips), "--input", str(prompt),
                    "--output", str(output), "--ttft", f"{first}ms", "--tpot", f"{token}ms", "--arrivals", "steady", "--json"])
    best = max(answer["plans"], key=lambda plan: plan["output_tokens_per_second_per_chip"])
    prefill = layout(best["prefill"]) if best["prefill"] else best["serving"]
    return best["output_tokens_per_second_per_chip"], f"{prefill} and {layout(best['decode'])}"


def ten_questions(default):
    ratios = []
    for question in QUESTIONS:
        model, _, chips, system, prompt, output, first, token = question
        (theirs, engine), (ours, plan) = their_best(question, default), our_best(question)
        shown = "     –     –" if theirs is None else f"{theirs:7.1f}  {ours / theirs:4.2f}"
        ratios += [] if theirs is None else [ours / theirs]
        print(f"  {model}, {chips} × {system}: {prompt} → {output}, {first} and {token} ms: {ours:7.1f} ({plan}), {engine} {shown}",
              flush=True)
    near = sum(0.8 <= ratio <= 1.25 for ratio in ratios)
    print(f"  {near} of {len(ratios)} within 0.8 and 1.25")


def main():
    try:
        from aiconfigurator.cli.api import cli_default, cli_estimate
    except ImportError:
        print("aiconfigurator is not installed: skipped (pip install aiconfigurator==0.12.0)")
        return
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    print(f"{'case':62} measured   ours  theirs")
    errors = {"ours": [], "theirs": []}
    spent = {"ours": 0.0, "theirs": 0.0}
    with CASES.open(newline="") as file:
        for case in csv.DictReader(file):
            measured = float(case["measured_ms"])
            answers = {}
            for name, answer in (("ours", lambda: ours(case)), ("theirs", lambda: theirs(case, cli_estimate))):
                start = time.perf_counter()
                answers[name] = answer()
                spent[name] += time.perf_counter() - start
                if answers[name] is not None:
                    errors[name].append(abs(math.log(answers[name] / measured)))
            what = (f"{case['model']}, {case['chips']} × {case['accelerator']}, {case['engine']}: "
                    f"{case['prompt_tokens']} → {case['output_tokens']}, {case['concurrency']} at once")
            shown = "  ".join("     –" if ms is None else f"{ms:6.2f}" for ms in answers.values())
            print(f"{what:62} {measured:8.2f} {shown}")
    for name, logs in errors.items():
        print(f"{name}: median error {statistics.median(logs):.2f}, {spent[name]:.1f} s for all cases")
    print("ranking, unroof, requests at a steady clock")
    our_ranking("--arrivals", "steady")
    print("ranking, unroof, requests at random")
    our_ranking()
    print("ranking, aiconfigurator")
    their_ranking(cli_default)
    print("best plans of ten questions, requests at a steady clock: generated tokens per second and chip")
    ten_questions(cli_default)


if __name__ == "__main__":
    main()
