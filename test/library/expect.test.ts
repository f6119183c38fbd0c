/** Expectations of the library against a real API server, by a clock that the test steps. */
import { describe, expect, it } from 'vitest'
import { expectObjects } from '../../library/expect.ts'
import { ExpectationError } from '../../library/expectation-error.ts'
import { objectClientOver } from '../../library/object-client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { sharedServer } from '../support/shared-server.ts'
import { connectionTo, counting } from './place.ts'

const named = { kind: 'ConfigMap', name: 'a' }

describe('expectObjects', () => {
  const server = sharedServer()
  async function place() {
    const namespace = await server().namespace()
    const clock = new FakeClock()
    const connection = connectionTo(server(), { namespace, clock })
    const api = objectClientOver(connection)
    const put = (name: string, data: Record<string, string>) =>
      api.apply({ kind: 'ConfigMap', metadata: { name }, data })
    return {
      connection,
      namespace,
      clock,
      api,
      put,
      [Symbol.dispose]: () => connection.client.close(),
    }
  }

  it('resolves with the objects as soon as it holds, in the client’s namespace', async () => {
    using at = await place()
    const waiting = expectObjects({ ...named, where: 'data.x == 2' }, at.connection)
    await at.put('a', { x: '1' })
    const stored = await at.put('a', { x: '2' })
    expect(await waiting).toEqual([stored])
    expect(at.clock.pending).toBe(0)
  })

  it('with a count it resolves with those that match', async () => {
    using at = await place()
    await at.put('a', { x: '1' })
    const b = await at.put('b', { x: '2' })
    const expectation = { kind: 'cm', match: { data: { x: '2' } }, count: { atLeast: 1 } }
    expect(await expectObjects(expectation, at.connection)).toEqual([b])
    expect(await expectObjects({ kind: 'cm', name: 'z', absent: true }, at.connection)).toEqual([])
  })

  it('what does not come true is told with what was wanted, what is there and what happened', async () => {
    using at = await place()
    const { namespace, clock } = at
    await at.put('a', { x: '1' })
    const { connection, progress } = counting(at.connection)
    const waiting = expectObjects({ ...named, where: 'data.x == 3', within: '5s' }, connection)
    const failed = waiting.catch((error: unknown) => error)
    await expect.poll(() => progress.begun).toBe(1)
    await clock.step(2000)
    await at.put('a', { x: '2' })
    await expect.poll(() => progress.events).toBe(1)
    await clock.step(3000)
    const error = (await failed) as ExpectationError
    expect(error).toBeInstanceOf(ExpectationError)
    expect(error.message).toBe(
      [
        'expect ConfigMap a: it did not hold within 5 s',
        'expected:',
        '  ConfigMap a',
        '  data.x == 3',
        'there was:',
        `  ConfigMap ${namespace}/a`,
        '    data.x == 3: it is 2',
        'meanwhile:',
        `  +0.0 s  ${namespace}/a was there`,
        `  +2.0 s  ${namespace}/a changed: data.x: 1 -> 2`,
      ].join('\n'),
    )
    expect(error.history).toHaveLength(2)
  })

  it('with stays it has to go on holding', async () => {
    using at = await place()
    const { clock } = at
    await at.put('a', { x: '1' })
    const expectation = { ...named, where: 'data.x == 1', stays: '3s' } as const
    const waiting = expectObjects(expectation, at.connection)
    await expect.poll(() => clock.pending).toBe(2)
    await clock.step(2999)
    await clock.step(1)
    expect(await waiting).toHaveLength(1)

    const breaking = expectObjects(expectation, at.connection)
    const failed = expect(breaking).rejects.toThrow('it held for only 0.0 s of 3 s')
    await expect.poll(() => clock.pending).toBe(2)
    await at.put('a', { x: '2' })
    await failed
  })

  it('rejects with the reason of its signal, with what the server refuses, and for unknown kinds', async () => {
    using at = await place()
    const stop = new AbortController()
    const waiting = expectObjects({ ...named, signal: stop.signal }, at.connection)
    const reason = new Error('enough')
    const aborted = expect(waiting).rejects.toBe(reason)
    await expect.poll(() => at.clock.pending).toBe(1)
    stop.abort(reason)
    await aborted
    expect(at.clock.pending).toBe(0)
    await expect(
      expectObjects({ kind: 'cm', labelSelector: '=(' }, at.connection),
    ).rejects.toMatchObject({ reason: 'BadRequest' })
    await expect(expectObjects({ kind: 'ConfigMapp' }, at.connection)).rejects.toThrow(
      'no such kind: ConfigMapp; did you mean ConfigMap?',
    )
    await expect(expectObjects({ kind: 'cm', where: 'x' }, at.connection)).rejects.toThrow(
      'expect: where cannot be read',
    )
  })
})
