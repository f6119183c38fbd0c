/** Logs of simulated containers as the node serves them. */
import { expect, test } from 'vitest'
import type { ResponseSink } from '../../../components/component-base/http.ts'
import { answerContainerLogs } from '../../../components/node-agent/server/container-logs.ts'
import { SimulatedRuntime } from '../../../components/node-agent/runtime/simulated-runtime.ts'
import { podAnnotations } from '../../../components/api/simulation.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { pod } from '../build.ts'

async function lab(annotations: Record<string, string> = {}, command: string[] = []) {
  const clock = new FakeClock()
  const runtime = new SimulatedRuntime({ clock, version: 'test', writeCheckpoint: async () => {} })
  const container = { name: 'main', image: 'example.com/app:1', command }
  const object = pod('web', { containers: [container] }, annotations)
  runtime.admitPod(object, { onExit: () => {}, environment: async () => ({}) })
  const start = async (attempt: number): Promise<string> =>
    (
      await runtime.startContainer({
        pod: object,
        container,
        attempt,
        environment: {},
        seccompProfile: undefined,
      })
    ).id
  const id = await start(0)
  const ask = (query = '', of: string | undefined = id) =>
    answerContainerLogs(
      {
        pod: 'web',
        container: 'main',
        id: of,
        waitingReason: () => undefined,
        query: new URLSearchParams(query),
      },
      { runtime, clock },
    )
  const read = (query?: string, of?: string): string => {
    const { body } = ask(query, of)
    if (!Buffer.isBuffer(body)) throw new Error('it streams')
    return body.toString()
  }
  /** Follows; `said` is what has come so far. */
  const follow = (query = '') => {
    const { body } = ask(`follow=true&${query}`)
    if (Buffer.isBuffer(body)) throw new Error('it does not stream')
    const gone = new AbortController()
    const said: string[] = []
    const sink: ResponseSink = {
      write: (chunk) => said.push(chunk.toString()) > 0,
      drained: async () => {},
      buffered: 0,
      signal: gone.signal,
    }
    return { said: () => said.join(''), done: body(sink), leave: () => gone.abort() }
  }
  return { clock, runtime, object, id, start, ask, read, follow }
}

const ticking = { [podAnnotations.logEvery]: '1s' }

test('a container writes when it starts, at its pace, and when it ends', async () => {
  const { clock, runtime, id, read } = await lab(ticking)
  await clock.step(2500)
  expect(read()).toBe('main started (attempt 0)\nmain line 1\nmain line 2\n')
  await runtime.stopContainer(id, 0)
  await clock.step(5000)
  expect(read()).toBe('main started (attempt 0)\nmain line 1\nmain line 2\nmain exited with 0\n')
})

test('a container whose command is known writes what that says, when it says it, and nothing else', async () => {
  const { clock, read, follow } = await lab({}, [
    'sh',
    '-c',
    'echo one; sleep 2; echo two; sleep 1',
  ])
  expect(read()).toBe('one\n')
  const following = follow()
  await clock.step(1999)
  expect(following.said()).toBe('one\n')
  await clock.step(1)
  expect(following.said()).toBe('one\ntwo\n')
  await clock.step(1001)
  await following.done
  expect(read()).toBe('one\ntwo\n')
})

test('tail, since, timestamps and a limit choose what is shown', async () => {
  const { clock, read } = await lab(ticking)
  const startMs = clock.now()
  await clock.step(4000)
  expect(read('tailLines=2')).toBe('main line 3\nmain line 4\n')
  expect(read('tailLines=0')).toBe('')
  expect(read('sinceSeconds=1')).toBe('main line 3\nmain line 4\n')
  const since = new Date(startMs + 3000).toISOString()
  expect(read(`sinceTime=${since}&timestamps=true`)).toBe(
    `${since} main line 3\n${new Date(startMs + 4000).toISOString()} main line 4\n`,
  )
  expect(read('limitBytes=7')).toBe('main st')
})

test('options that make no sense are refused', async () => {
  const { ask } = await lab()
  for (const query of [
    'tailLines=-1',
    'tailLines=x',
    'sinceSeconds=0',
    'limitBytes=0',
    'sinceTime=yesterday',
    'sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z',
  ]) {
    expect(ask(query).status, query).toBe(422)
  }
})

test('following gives what was written, then each line when it comes, and ends with the container', async () => {
  const { clock, runtime, id, follow } = await lab(ticking)
  await clock.step(1500)
  const { said, done } = follow('tailLines=1')
  await clock.step(0)
  expect(said()).toBe('main line 1\n')
  await clock.step(1000)
  expect(said()).toBe('main line 1\nmain line 2\n')
  await clock.step(1000)
  await runtime.stopContainer(id, 0)
  await done
  expect(said()).toBe('main line 1\nmain line 2\nmain line 3\nmain exited with 0\n')
  expect(clock.pending).toBe(0)
})

test('following ends when the reader goes, when the pod goes, and at the limit', async () => {
  const { clock, runtime, object, follow } = await lab()
  const leaving = follow()
  await clock.step(0)
  leaving.leave()
  await leaving.done
  const limited = follow('limitBytes=4')
  await limited.done
  expect(limited.said()).toBe('main')
  const other = follow()
  await clock.step(0)
  runtime.removePod(object.metadata.uid ?? '')
  await other.done
  expect(other.said()).toBe('main started (attempt 0)\n')
  expect(clock.pending).toBe(0)
})

test('the log of the try before is there until the next one', async () => {
  const { ask, runtime, id, start, read } = await lab()
  const none = ask('previous=true')
  expect(none).toMatchObject({ status: 400 })
  expect(none.body.toString()).toBe('previous terminated container "main" in pod "web" not found')
  await runtime.stopContainer(id, 0)
  const second = await start(1)
  expect(read('', second)).toBe('main started (attempt 1)\n')
  expect(read('previous=true', second)).toBe('main started (attempt 0)\nmain exited with 0\n')
  await runtime.stopContainer(second, 0)
  const third = await start(2)
  expect(read('previous=true', third)).toContain('attempt 1')
  expect(read('', id)).toBe('')
})

test.each([
  ['PodInitializing', 'PodInitializing'],
  ['ErrImagePull', "image can't be pulled"],
  ['ImagePullBackOff', 'trying and failing to pull image'],
])(
  'of a container that has not started, for %s, there is only what it waits for',
  async (reason, text) => {
    const { runtime, clock } = await lab()
    const request = {
      pod: 'web',
      container: 'main',
      id: undefined,
      waitingReason: () => reason,
      query: new URLSearchParams(),
    }
    const { status, body } = answerContainerLogs(request, { runtime, clock })
    expect(status).toBe(400)
    expect(String(body)).toBe(`container "main" in pod "web" is waiting to start: ${text}`)
  },
)
