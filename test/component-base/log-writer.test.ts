import { describe, expect, it } from 'vitest'
import { createLogWriter } from '../../components/component-base/log-writer.ts'
import { FakeClock } from '../support/fake-clock.ts'

type Written = (error?: Error | null) => void

function setUp() {
  const clock = new FakeClock()
  const written: { line: string; done: Written }[] = []
  const stream = {
    write: (line: string, done: unknown) => written.push({ line, done: done as Written }) > 0,
  }
  const writer = createLogWriter(stream as Parameters<typeof createLogWriter>[0], clock)
  return { clock, written, writer }
}

describe('a log', () => {
  it('is well while its lines are written, however old the last one is', async () => {
    const { clock, written, writer } = setUp()
    expect(writer.fault()).toBeUndefined()
    writer.write('one\n')
    written[0]?.done()
    await clock.step(3_600_000)
    expect(writer.fault()).toBeUndefined()
  })

  it('is blocked when a line is not written within two minutes', async () => {
    const { clock, written, writer } = setUp()
    writer.write('one\n')
    await clock.step(120_000)
    expect(writer.fault()).toBeUndefined()
    await clock.step(1)
    expect(writer.fault()).toBe('logging blocked')
    written[0]?.done()
    expect(writer.fault()).toBeUndefined()
  })

  it('is not well when a line is lost, and is again as soon as that line can be written', () => {
    const { written, writer } = setUp()
    writer.write('one\n')
    written[0]?.done(new Error('no space left on device'))
    expect(writer.fault()).toBe('logging blocked: no space left on device')
    expect(written.map(({ line }) => line)).toEqual(['one\n', 'one\n'])
    written[1]?.done()
    expect(writer.fault()).toBeUndefined()
  })
})
