/** Opening a store of many objects, listing them whole and page by page, and what the process holds meanwhile. */
import { performance } from 'node:perf_hooks'
import { writeFileSync } from 'node:fs'
import { filledPath, fillStore } from './filled-store.ts'
import { answerOf, exchange, openSession } from './load.ts'
import { usage } from './process.ts'
import { plainRow, timed, timeRow, type Row } from './rows.ts'
import type { World } from './world.ts'

const pageSize = 500

/** Where a page's continue token is, whatever the size of the page. */
function tokenIn(page: Buffer): string {
  return /"continue":"([^"]+)"/.exec(page.subarray(0, 4096).toString())?.[1] ?? ''
}

async function tokenAfter(session: ReturnType<typeof openSession>, count: number): Promise<string> {
  return encodeURIComponent(tokenIn(await answerOf(session, `${filledPath}?limit=${count}`)))
}

export async function measureLargeCollections(world: World): Promise<Row[]> {
  const rows: Row[] = []
  const bare = await world.startBare()
  const bareSession = openSession(bare.endpoint)
  for (const count of [10_000, 100_000]) {
    const storeName = `filled-${count}.db`
    await fillStore(world, storeName, count)
    const startedAt = performance.now()
    const server = await world.startServer(storeName)
    const openMs = performance.now() - startedAt
    rows.push(
      plainRow(
        `start on a store of ${count} objects`,
        `${Math.round(openMs)} ms`,
        `${usage(server.pid).residentMb.toFixed(0)} MB resident, ${usage(server.pid).peakMb.toFixed(0)} MB at most`,
      ),
    )
    const session = openSession(server.endpoint)
    const getAll = () => exchange(session, { method: 'GET', path: filledPath })
    await exchange(session, { method: 'GET', path: `${filledPath}?limit=${pageSize}` })
    const before = usage(server.pid).residentMb
    // Sets the peak back to what is resident now.
    writeFileSync(`/proc/${server.pid}/clear_refs`, '5')
    const first = await getAll()
    const peakMb = usage(server.pid).peakMb - before
    const mib = (first.bytes / 2 ** 20).toFixed(0)
    rows.push(
      timeRow(
        `list of ${count} pods (${mib} MiB)`,
        await timed(getAll, 3),
        await timed(() => exchange(bareSession, { method: 'GET', path: `/items/${count}` }), 3),
        `first byte after ${first.firstByteMs.toFixed(0)} ms, at most ${peakMb.toFixed(0)} MB more resident`,
      ),
    )
    const barePage = () => exchange(bareSession, { method: 'GET', path: `/items/${pageSize}` })
    const barePageMs = await timed(barePage, 41)
    const places: readonly (readonly [string, string])[] = [
      ['first', ''],
      ['middle', `&continue=${await tokenAfter(session, count / 2)}`],
      ['last', `&continue=${await tokenAfter(session, count - pageSize)}`],
    ]
    for (const [place, token] of places) {
      const path = `${filledPath}?limit=${pageSize}${token}`
      const page = () => exchange(session, { method: 'GET', path })
      await timed(page, 10)
      rows.push(
        timeRow(`${place} page of ${pageSize} of ${count}`, await timed(page, 41), barePageMs),
      )
    }
    session.close()
    await server.stop()
  }
  bareSession.close()
  await bare.stop()
  return rows
}
