"""FastAPI with asyncpg: an estimate by its id, as a team that works in Python would write it. `scripts/bench` runs it by uvicorn."""

import contextlib
import os
import uuid

import asyncpg
from fastapi import FastAPI, HTTPException, Response


@contextlib.asynccontextmanager
async def pooled(app):
    app.state.pool = await asyncpg.create_pool(os.environ["PEER_DATABASE"], min_size=8, max_size=8)
    yield
    await app.state.pool.close()


app = FastAPI(lifespan=pooled)


@app.get("/rows/{number}")
async def row(number: uuid.UUID):
    document = await app.state.pool.fetchval("SELECT document FROM estimates WHERE id = $1", number)
    if document is None:
        raise HTTPException(404)
    return Response(document, media_type="application/json")
