/** Expectations: when they hold, and what a failed one reports: expected, there was, meanwhile. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import type { WatchEvent } from '../../components/client/resource-client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { createJudge, describeExpectation } from '../../scenarios/engine/expectation.ts'
import { AssertionFailure } from '../../scenarios/engine/assertion-failure.ts'
import { createFindResource } from '../../scenarios/engine/find-resource.ts'
import type { ScenarioCluster } from '../../scenarios/engine/scenario-cluster.ts'
import type { StepContext } from '../../scenarios/engine/step.ts'
import { expect as expectStep } from '../../scenarios/engine/steps/expect.ts'
import { createVariables } from '../../scenarios/engine/variables.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

const pod = (name: string, phase: string, resourceVersion = '1'): KubeObject => ({
  metadata: { name, namespace: 'default', resourceVersion },
  status: { phase },
})

describe('judging', () => {
  const running = { where: ['status.phase == Running'], absent: false }
  test('without a count every selected object has to fulfil it, and there has to be one', () => {
    const judge = createJudge(running)
    expect(judge([]).holds).toBe(false)
    expect(judge([pod('a', 'Running')]).holds).toBe(true)
    expect(judge([pod('a', 'Running'), pod('b', 'Pending')]).holds).toBe(false)
  })
  test('a count is of those that fulfil it', () => {
    const pods = [pod('a', 'Running'), pod('b', 'Pending')]
    expect(createJudge({ ...running, count: 1 })(pods).holds).toBe(true)
    expect(createJudge({ ...running, count: 2 })(pods).holds).toBe(false)
    expect(createJudge({ ...running, count: { atLeast: 1 } })(pods).holds).toBe(true)
    expect(createJudge({ ...running, count: { atMost: 0 } })(pods).holds).toBe(false)
  })
  test('absent means that none fulfils it', () => {
    const judge = createJudge({ ...running, absent: true })
    expect(judge([]).holds).toBe(true)
    expect(judge([pod('a', 'Pending')]).holds).toBe(true)
    expect(judge([pod('a', 'Running')]).holds).toBe(false)
  })
  test('the objects that fulfil it are told from the others', () => {
    const pods = [pod('a', 'Pending'), pod('b', 'Running')]
    expect(createJudge({ ...running, count: 1 })(pods).matching).toEqual([pods[1]])
  })
  test('the report names each object and what keeps it from fulfilling it', () => {
    const judge = createJudge({ ...running, match: { metadata: { name: 'b' } } })
    expect(judge([{ kind: 'Pod', ...pod('a', 'Pending') }]).report()).toEqual([
      'Pod default/a',
      '  status.phase == Running: it is Pending',
      '  metadata.name: wanted b, got a',
    ])
    expect(judge([]).report()).toEqual(['no such object'])
    expect(describeExpectation({ ...running, count: 3 })).toEqual([
      'status.phase == Running',
      'exactly 3 such objects',
    ])
  })
})

/** A server whose lists and watches the test writes itself. */
function scriptedServer(first: readonly KubeObject[]) {
  let objects = [...first]
  let push: ((event: WatchEvent | Error) => void) | undefined
  const selectors: (string | undefined)[] = []
  const pods = {
    resource: resourcesOf(dialects.kubernetes).pods,
    list: async (options: { fieldSelector?: string }) => {
      selectors.push(options.fieldSelector)
      return { metadata: { resourceVersion: '1' }, items: objects }
    },
    watch: async function* (_: unknown, signal: AbortSignal) {
      const queue: (WatchEvent | Error)[] = []
      let wake = (): void => {}
      push = (event) => {
        queue.push(event)
        wake()
      }
      signal.addEventListener('abort', () => wake())
      for (;;) {
        signal.throwIfAborted()
        const next = queue.shift()
        if (next instanceof Error) throw next
        if (next !== undefined) yield next
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
  return {
    pods,
    selectors,
    send: async (event: WatchEvent | Error) => {
      push?.(event)
      await settle()
    },
    replace: (next: readonly KubeObject[]) => {
      objects = [...next]
    },
  }
}

function contextOver(server: ReturnType<typeof scriptedServer>, clock: FakeClock): StepContext {
  const resources = resourcesOf(dialects.kubernetes)
  const client = { dialect: dialects.kubernetes, resource: () => server.pods } as unknown as Client
  return {
    cluster: {} as ScenarioCluster,
    client,
    namespace: 'default',
    resources,
    findResource: createFindResource(resources, client),
    clock,
    variables: createVariables(dialects.kubernetes),
    signal: new AbortController().signal,
    clientAs: async () => client,
    note: () => {},
    onEnd: () => {},
    failScenario: () => {},
    onFailure: () => {},
    folder: '/',
    history: {} as StepContext['history'],
    processes: new Map(),
    runSteps: async () => {},
  }
}

/** Runs the step and notes how it ended, so that the clock can be stepped meanwhile. */
function begin(params: unknown, context: StepContext): { ended: () => unknown } {
  let outcome: unknown = 'still waiting'
  void expectStep.run(params, context).then(
    () => (outcome = 'passed'),
    (error: unknown) => (outcome = error),
  )
  return { ended: () => outcome }
}

const wanted = { kind: 'Pod', name: 'web', where: ['status.phase == Running'], within: 5000 }

describe('the step', () => {
  test('passes as soon as a watched change makes it so', async () => {
    const clock = new FakeClock()
    const server = scriptedServer([pod('web', 'Pending')])
    const { ended } = begin(wanted, contextOver(server, clock))
    await settle()
    expect(server.selectors).toEqual(['metadata.name=web'])
    expect(ended()).toBe('still waiting')
    await server.send({ type: 'MODIFIED', object: pod('web', 'Running', '2') })
    expect(ended()).toBe('passed')
    expect(clock.pending).toBe(0)
  })

  test('fails at its deadline with what was expected, what was there and how it changed', async () => {
    const clock = new FakeClock()
    const server = scriptedServer([pod('web', 'Pending')])
    const { ended } = begin(wanted, contextOver(server, clock))
    await clock.step(1500)
    await server.send({ type: 'MODIFIED', object: pod('web', 'Failed', '2') })
    await clock.step(1000)
    await server.send({ type: 'DELETED', object: pod('web', 'Failed', '3') })
    await clock.step(2499)
    expect(ended()).toBe('still waiting')
    await clock.step(1)
    expect(ended()).toBeInstanceOf(AssertionFailure)
    expect((ended() as AssertionFailure).lines()).toEqual([
      'it did not hold within 5 s',
      'expected:',
      '  Pod web',
      '  status.phase == Running',
      'there was:',
      '  no such object',
      'meanwhile:',
      '  +0.0 s  default/web was there',
      '  +1.5 s  default/web changed: status.phase: Pending -> Failed',
      '  +2.5 s  default/web deleted',
    ])
  })

  test('with stays it has to remain so; a breach fails at once', async () => {
    const clock = new FakeClock()
    const server = scriptedServer([pod('web', 'Running')])
    const { ended } = begin({ ...wanted, stays: 3000 }, contextOver(server, clock))
    await clock.step(1000)
    expect(ended()).toBe('still waiting')
    await server.send({ type: 'MODIFIED', object: pod('web', 'Failed', '2') })
    expect((ended() as Error).message).toBe('it held for only 1.0 s of 3 s')
  })

  test('with stays it passes when it has remained so, also past its deadline', async () => {
    const clock = new FakeClock()
    const server = scriptedServer([pod('web', 'Pending')])
    const { ended } = begin({ ...wanted, stays: 3000 }, contextOver(server, clock))
    await clock.step(4000)
    await server.send({ type: 'MODIFIED', object: pod('web', 'Running', '2') })
    await clock.step(2999)
    expect(ended()).toBe('still waiting')
    await clock.step(1)
    expect(ended()).toBe('passed')
  })

  test('goes on when the server is lost, with a new list', async () => {
    const clock = new FakeClock()
    const server = scriptedServer([pod('web', 'Pending')])
    const { ended } = begin(wanted, contextOver(server, clock))
    await settle()
    server.replace([pod('web', 'Running', '9')])
    await server.send(new ConnectionError('lost', 'gone'))
    await clock.step(50)
    expect(ended()).toBe('passed')
  })

  test('saves values from the object into variables', async () => {
    const context = contextOver(scriptedServer([pod('web', 'Running')]), new FakeClock())
    await expectStep.run({ ...wanted, save: { phase: 'status.phase' } }, context)
    expect(context.variables.resolve('it is ${phase}')).toBe('it is Running')
  })
})

describe('variables', () => {
  test('names of the dialect, values of steps, and whole values', () => {
    const variables = createVariables(dialects.svc, { key: '${label:node/unreachable}' })
    variables.set('list', [1, 2])
    expect(
      variables.resolve({
        '${key}': '${systemNamespace} ${group:certificates}/v1',
        all: '${list}',
        text: 'n=${list}',
      }),
    ).toEqual({
      'node.svc.io/unreachable': 'svc-system certificates.svc.io/v1',
      all: [1, 2],
      text: 'n=1,2',
    })
  })
  test('an unknown one is an error that names the known ones', () => {
    expect(() => createVariables(dialects.kubernetes).resolve('${token}')).toThrow(
      'variable ${token} is not set; known are systemNamespace',
    )
  })
})
