/** An agent that starts again beside pods that it had before. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type { Node, Pod } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import { startAgent } from '../agent.ts'
import type { Lab } from '../lab.ts'
import { startLab } from '../lab.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const resources = resourcesOf(dialects.kubernetes)
const namespace = 'default'
let lab: Lab

beforeAll(async () => {
  lab = await startLab()
  await lab.admin.resource(resources.serviceAccounts).create({
    metadata: { namespace, name: 'default' },
  })
})
afterAll(async () => await lab.stop())

const pods = () => lab.admin.resource<Pod>(resources.pods)

async function createPod(nodeName: string, name: string): Promise<void> {
  const containers = [{ name: 'main', image: 'app:1' }]
  await pods().create({ metadata: { name, namespace }, spec: { nodeName, containers } })
}

/** Its addresses, once it runs; with a change of them if one is said. */
async function addressesOf(name: string, not?: string): Promise<readonly unknown[]> {
  return await eventually(async () => {
    const { status } = await pods().get({ namespace, name })
    expect(status?.phase).toBe('Running')
    expect(status?.podIP).not.toBe(not)
    return [status?.podIP, status?.podIPs]
  })
}

test('a pod keeps its address beside one that came while the agent was away', async () => {
  const rootDir = temporaryFolder('node')
  await using stops = new AsyncDisposableStack()
  const first = startAgent(lab, 'back', { rootDir })
  stops.defer(async () => await first.stop())
  await first.ready
  await createPod('back', 'leaves')
  await createPod('back', 'stays')
  const before = await addressesOf('stays')
  await addressesOf('leaves')
  await first.stop()
  // Agents take pods in the order of their names.
  await createPod('back', 'comes')
  await createPod('back', 'comes-too')
  await pods().delete({ namespace, name: 'leaves' }, { gracePeriodSeconds: 1 })
  const second = startAgent(lab, 'back', { rootDir })
  stops.defer(async () => await second.stop())
  const addresses = [await addressesOf('comes'), await addressesOf('comes-too'), before]
  expect(new Set(addresses.map(([address]) => address)).size).toBe(3)
  await eventually(async () => {
    const gone = await pods()
      .get({ namespace, name: 'leaves' })
      .catch((error: unknown) => error)
    expect(isStatusError(gone) && gone.code).toBe(404)
  })
  expect(await addressesOf('stays')).toEqual(before)
})

test('a pod keeps the address that it has from the range of its node', async () => {
  const rootDir = temporaryFolder('node')
  await using stops = new AsyncDisposableStack()
  const first = startAgent(lab, 'ranged', { rootDir })
  stops.defer(async () => await first.stop())
  await first.ready
  const spec = { podCIDR: '10.77.3.0/24', podCIDRs: ['10.77.3.0/24'] }
  await lab.admin
    .resource<Node>(resources.nodes)
    .patch({ name: 'ranged' }, { spec }, { type: 'merge' })
  const before = await eventually(async () => {
    const name = `ranged-${performance.now().toFixed()}`
    await createPod('ranged', name)
    const [address] = await addressesOf(name)
    expect(address).toMatch(/^10\.77\.3\./)
    return { name, address }
  })
  await first.stop()
  await createPod('ranged', 'a-new-one')
  const second = startAgent(lab, 'ranged', { rootDir })
  stops.defer(async () => await second.stop())
  const [added] = await addressesOf('a-new-one')
  expect(added).toMatch(/^10\.77\.3\./)
  const [address] = await addressesOf(before.name)
  expect(address).toBe(before.address)
})

test('a pod whose address changes has the new one alone', async () => {
  const rootDir = temporaryFolder('node')
  await using stops = new AsyncDisposableStack()
  const first = startAgent(lab, 'moved', { rootDir, flags: { 'pod-cidr': '10.78.1.0/24' } })
  stops.defer(async () => await first.stop())
  await createPod('moved', 'moves')
  expect(await addressesOf('moves')).toEqual(['10.78.1.2', [{ ip: '10.78.1.2' }]])
  await first.stop()
  const second = startAgent(lab, 'moved', { rootDir, flags: { 'pod-cidr': '10.78.2.0/24' } })
  stops.defer(async () => await second.stop())
  expect(await addressesOf('moves', '10.78.1.2')).toEqual(['10.78.2.2', [{ ip: '10.78.2.2' }]])
})
