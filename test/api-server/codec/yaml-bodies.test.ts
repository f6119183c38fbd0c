import { afterEach, describe, expect, it } from 'vitest'
import { YamlBodies } from '../../../components/api-server/encoding/yaml-bodies.ts'
import { maxBodyValues } from '../../../components/machinery/values/value-limit.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { eventually } from '../../support/eventually.ts'

const clock = new FakeClock()
const bodies = new YamlBodies(clock)
afterEach(() => bodies.close())

/** Too long to be read at once. */
const filling = `# ${'x'.repeat(10_000)}\n`

describe('YAML bodies', () => {
  it('mean the same whatever their length, and have the same faults', async () => {
    for (const text of [
      'a: {b: [1, x, null, 1.5, true]}',
      'a: &a [x]\nb: *a',
      'a',
      '[]',
      'é: "\\ud800"',
    ]) {
      const short = await bodies.read(Buffer.from(text))
      expect(await bodies.read(Buffer.from(filling + text)), text).toEqual(short)
    }
    for (const text of ['a: [', 'a: 1\na: 2', '? [a]\n: b', '*none']) {
      const fault = async (body: string): Promise<string> =>
        await bodies.read(Buffer.from(body)).then(
          () => 'none',
          (error: Error) => (error.message.split('\n')[0] ?? '').replace(/ *\(\d+:\d+\)/, ''),
        )
      expect(await fault(filling + text), text).toBe(await fault(text))
    }
  })

  it('name a key given twice when they may have one', async () => {
    const read = await bodies.read(Buffer.from(`${filling}a: 1\nb: 2\na: 3`), { isLenient: true })
    expect(read).toEqual({ value: { a: 3, b: 2 }, repeatedKey: { name: 'a', line: 4 } })
  })

  it('hold a bounded number of values, with and without aliases', async () => {
    const items = (count: number): Buffer => Buffer.from(`[${'a,'.repeat(count)}]`)
    expect((await bodies.read(items(maxBodyValues - 1))).value).toHaveLength(maxBodyValues - 1)
    await expect(bodies.read(items(maxBodyValues))).rejects.toThrow('too many values')
    const aliases = Buffer.from(`a: &a [${'x,'.repeat(1000)}]\nb: [${'*a,'.repeat(1000)}]`)
    await expect(bodies.read(aliases)).rejects.toThrow('excessive aliasing')
  })

  it('are refused while too many wait, and read again after that', async () => {
    const large = Buffer.from(`${filling.repeat(200)}a`)
    const asked = await Promise.allSettled(Array.from({ length: 30 }, () => bodies.read(large)))
    const refused = asked.filter(({ status }) => status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.length).toBeLessThan(30)
    expect(refused[0]).toMatchObject({ reason: { code: 429 } })
    expect((await bodies.read(large)).value).toBe('a')
  })

  it('are written the same whatever their length, with fields in order', async () => {
    const texts = ['b', 'yes', '1', 'é: #', 'a\nb', '']
    const short = texts.map((text) => ({ z: { b: [text, 1, null], a: {} }, a: text }))
    const written = await bodies.write(Buffer.from(JSON.stringify(short)))
    expect(written.toString().slice(0, 20)).toBe('- a: b\n  z:\n    a: {')
    const long = Array.from({ length: 200 }, () => short).flat()
    const [first, second] = await Promise.all([
      bodies.write(Buffer.from(JSON.stringify(long))),
      bodies.write(Buffer.from(JSON.stringify(long.slice(1)))),
    ])
    expect(first.toString()).toBe(written.toString().repeat(200))
    expect(first.toString().endsWith(second.toString())).toBe(true)
  })

  it('are written though what was read before exhausts the thread', async () => {
    const large = Array.from({ length: 10_000 }, (_, index) => `k${index}`)
    const asked = bodies.write(Buffer.from(JSON.stringify(large)))
    await Promise.all([asked, bodies.close()])
    expect((await asked).toString()).toBe(large.map((text) => `- ${text}\n`).join(''))
  })

  it('leave no thread behind when there is nothing to do', async () => {
    const threads = (): number =>
      (process.report.getReport() as unknown as { workers: unknown[] }).workers.length
    const before = threads()
    await bodies.read(Buffer.from(`${filling}a: b`))
    expect(threads()).toBe(before + 1)
    await clock.step(10_000)
    await eventually(() => expect(threads()).toBe(before))
    expect((await bodies.read(Buffer.from(`${filling}a: b`))).value).toEqual({ a: 'b' })
  })
})
