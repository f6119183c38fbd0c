/** Rules for the usage of containers whose pods have no annotation: which match, and what a mistake is answered with. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readUsage } from '../../../components/api/simulated-usage.ts'
import { SimulatedRuntime } from '../../../components/node-agent/runtime/simulated-runtime.ts'
import { parseUsageRules } from '../../../components/node-agent/runtime/usage-rules.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startAgent } from '../agent.ts'
import { pod, runPod } from '../build.ts'
import { startLab, type Lab } from '../lab.ts'

const rules = parseUsageRules(`
# of the shop
shop/web-*/main  cpu     20m + 5m per request
shop/web-*       memory  64Mi for 1m, 128Mi
shop             cpu     30m
*/*-db/*         cpu     40m
  *  cpu  50m
`)

describe('rules', () => {
  test.each<[string, string, string, 'cpu' | 'memory', string | undefined]>([
    ['shop', 'web-1', 'main', 'cpu', '20m + 5m per request'],
    ['shop', 'web-1', 'other', 'cpu', '30m'],
    ['shop', 'web-1', 'other', 'memory', '64Mi for 1m, 128Mi'],
    ['shop', 'web-', 'main', 'cpu', '20m + 5m per request'],
    ['shop', 'web', 'main', 'cpu', '30m'],
    ['shopping', 'web-1', 'main', 'cpu', '50m'],
    ['shop', 'db', 'main', 'memory', undefined],
    ['other', 'my-db', 'main', 'cpu', '40m'],
    ['other', 'my-db-0', 'main', 'cpu', '50m'],
  ])('%s/%s/%s uses of %s: %s', (namespace, name, container, resource, usage) => {
    const found = rules.usageOf({ metadata: { namespace, name } }, container, resource)
    expect(found).toEqual(usage === undefined ? undefined : readUsage(usage))
  })

  test.each([
    ['shop cpu', 'line 2: want NAMESPACE/POD/CONTAINER, cpu or memory, and a usage'],
    ['shop disk 5', 'line 2: invalid resource "disk": want cpu or memory'],
    ['shop cpu much', 'line 2: invalid usage "much": must be an amount such as 250m'],
    ['a/b/c/d cpu 5m', 'line 2: invalid pattern "a/b/c/d": want NAMESPACE, NAMESPACE/POD'],
    ['shop/ cpu 5m', 'line 2: invalid pattern "shop/"'],
    ['shop/*web* cpu 5m', 'line 2: invalid pattern "shop/*web*"'],
    [Array(1001).fill('* cpu 5m').join('\n'), 'line 1002: more than 1000 rules'],
  ])('that are wrong are refused by line: %#', (text, why) => {
    expect(() =>
      parseUsageRules(`* cpu 1m\n${text}`.replace('* cpu 1m\n* cpu', '\n* cpu')),
    ).toThrow(why)
  })

  test('count where the pod has no annotation, and from now on when they change', async () => {
    const clock = new FakeClock()
    const runtime = new SimulatedRuntime({
      clock,
      version: 'test',
      writeCheckpoint: async () => {},
    })
    runtime.useRules(parseUsageRules('default cpu 2\ndefault memory 20Mi'))
    const annotations = { 'skiff.dev/memory-usage': '10Mi' }
    const run = await runPod(pod('web', {}, annotations), { clock, runtime })
    const id = run.last.containerStatuses?.[0]?.containerID?.split('://')[1] ?? ''
    await clock.step(10_000)
    expect(runtime.usage(id)).toMatchObject({
      cores: 2,
      coreSeconds: 20,
      memoryBytes: 10 * 2 ** 20,
    })
    runtime.useRules(parseUsageRules('default cpu 1'))
    await clock.step(10_000)
    expect(runtime.usage(id)).toMatchObject({ cores: 1, coreSeconds: 30 })
  })
})

describe('--usage-file', () => {
  let lab: Lab
  beforeAll(async () => {
    lab = await startLab()
  })
  afterAll(() => lab.stop())

  test('is read again when it changes; a file with a mistake keeps the last rules', async () => {
    const folder = temporaryFolder('usage-file')
    const file = join(folder, 'usage')
    writeFileSync(file, '* cpu 5m\n')
    const flags = { 'usage-file': file }
    const agent = startAgent(lab, 'metered', { rootDir: join(folder, 'agent'), flags })
    try {
      await agent.ready
      writeFileSync(file, '* cpu 6m\n* cpu lots\n')
      const said = (text: string) =>
        eventually(() => expect(agent.logged.join('\n')).toContain(text))
      await said('line 2: invalid usage \\"lots\\"')
      writeFileSync(file, '* cpu 7m\n')
      await said('configuration reloaded')
    } finally {
      await agent.stop()
    }
  })

  test.each([
    ['* disk 5m', '--usage-file: line 1: invalid resource "disk"'],
    [undefined, '--usage-file: cannot read '],
  ])('keeps the agent from starting when it holds %j', async (text, why) => {
    const folder = temporaryFolder('usage-file')
    const file = join(folder, 'usage')
    if (text !== undefined) writeFileSync(file, text)
    const flags = { 'usage-file': file }
    const agent = startAgent(lab, 'refused', { rootDir: join(folder, 'agent'), flags })
    expect(String(await agent.finished)).toContain(why)
  })
})
