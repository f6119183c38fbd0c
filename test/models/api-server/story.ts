/** Runs one random story against a server and checks every answer and event of it against the model. */
import assert from 'node:assert/strict'
import { admin, type Identity } from '../../support/api-client.ts'
import { checkReads } from './check-reads.ts'
import { checkWatches } from './check-watches.ts'
import { checkWrites } from './check-writes.ts'
import { everything } from './selections.ts'
import { History, isSame, revisionOf, shown, type Shown } from './history.ts'
import { Oracle } from './oracle.ts'
import { Reader } from './reader.ts'
import { Recorder } from './recorder.ts'
import type { Request, Round } from './steps.ts'
import type { Subject } from './subject.ts'
import { Watches } from './watches.ts'
import { Memory, write } from './writer.ts'

/** Connections of their own, so that what one reads does not wait for what another sends. */
const clients: readonly Identity[] = ['one', 'two', 'three'].map((user) => ({
  user,
  groups: ['system:masters'],
}))

/** `namespace` is one that nothing else uses. Throws when the server's behaviour fits no order of the commits. */
export async function runStory(
  subject: Subject,
  rounds: readonly Round[],
  namespace: string,
): Promise<void> {
  await create(subject, '/api/v1/namespaces', namespace)
  const at = `/api/v1/namespaces/${namespace}/configmaps`
  const history = new History()
  const recorder = new Recorder(subject)
  const memory = new Memory()
  const reader = new Reader({ recorder, memory, at })
  const watches = new Watches({ subject, recorder, memory, at })
  const oracle = new Oracle({ subject, recorder, history, at })
  let serial = 0

  const act = async (request: Request): Promise<void> => {
    serial += 1
    const as = clients[serial % clients.length] ?? admin
    const id = `op-${serial}`
    if (request.kind === 'watch') await watches.open(request)
    else if (request.kind === 'reconnect') await watches.reconnect(request)
    else {
      const record =
        request.kind === 'get'
          ? await reader.get(request, as)
          : request.kind === 'list'
            ? await reader.list(request, as)
            : request.kind === 'page'
              ? await reader.page(request, as)
              : await write(request, { recorder, memory, at, as, id })
      if (record !== undefined) memory.learn(record)
    }
  }
  const kill = async (): Promise<void> => {
    recorder.kills += 1
    await subject.kill?.()
  }

  try {
    const first = await oracle.start()
    memory.start(revisionOf(first.body as Shown), subject.nowMs())
    for (const { requests, kill: isKilled, minutes } of rounds) {
      const kills = isKilled && subject.kill !== undefined
      await Promise.all([...requests.map(act), ...(kills ? [kill()] : [])])
      if (kills) await oracle.resume()
      if (minutes > 0) await subject.pass?.(minutes * 60_000)
    }
    const end = await create(subject, at, 'z-end')
    await oracle.readTo(end)
    checkWrites(recorder, history, { ignored: 'z-end' })
    checkReads(recorder, history, reader)
    await checkWatches(watches, { recorder, history })
    const last = await subject.request('GET', at)
    const items = (last.body.items as Shown[]).map(shown)
    assert.ok(isSame(items, history.list(end, everything)), 'the last list is not the last state')
  } finally {
    watches.close()
    oracle.close()
  }
}

async function create(subject: Subject, path: string, name: string): Promise<number> {
  const { status, body, text } = await subject.request('POST', path, {
    body: { metadata: { name } },
  })
  assert.equal(status, 201, text)
  return revisionOf(body as Shown)
}
