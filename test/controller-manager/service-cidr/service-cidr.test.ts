import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { ipAddressFor, serviceRangeKeys } from '../../../components/api/service-ranges.ts'
import type { ServiceCidr } from '../../../components/api/service-ranges.ts'
import { serviceCidrController } from '../../../components/controller-manager/service-cidr/service-cidr.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { parseIpAddress } from '../../../components/machinery/validation/ip-address.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

const dialect = dialects.kubernetes
const { finalizer } = serviceRangeKeys(dialect)

function range(name: string, ...cidrs: string[]): KubeObject {
  return { metadata: { name, finalizers: [finalizer] }, spec: { cidrs } }
}

function address(name: string): KubeObject {
  const family = parseIpAddress(name)?.family ?? 'IPv4'
  const service = { metadata: { namespace: 'default', name: 'web' } }
  return ipAddressFor({ name, family }, service, dialect)
}

/** Ranges and addresses that are there when the controller starts. */
async function startWith(
  ranges: readonly KubeObject[],
  addresses: readonly KubeObject[] = [],
): Promise<void> {
  harness = createReconcilerHarness({ gates: { MultiCIDRServiceAllocator: true } })
  const { cluster, resources } = harness
  for (const one of ranges) cluster.seed(resources.serviceCidrs, one)
  for (const one of addresses) cluster.seed(resources.ipAddresses, one)
  await harness.start(serviceCidrController)
}

function now(name: string): ServiceCidr | undefined {
  return harness.cluster.peek<ServiceCidr>(harness.resources.serviceCidrs, name)
}

function readyOf(name: string): string | undefined {
  const [ready, ...others] = now(name)?.status?.conditions ?? []
  expect(others).toEqual([])
  return ready && `${ready.status} ${ready.reason ?? ''}`.trim()
}

/** Deletes the range, and waits until its addresses can no longer be given out. */
async function remove(name: string): Promise<void> {
  harness.cluster.remove(harness.resources.serviceCidrs, name)
  await harness.step()
  await harness.step(10_000)
}

it('a new range gets its finalizer and is ready; then nothing more is written', async () => {
  await startWith([{ metadata: { name: 'more' }, spec: { cidrs: ['10.1.0.0/24'] } }])
  expect(now('more')?.metadata.finalizers).toEqual([finalizer])
  expect(now('more')?.status?.conditions).toEqual([
    {
      type: 'Ready',
      status: 'True',
      reason: '',
      message: 'Kubernetes Service CIDR is ready',
      lastTransitionTime: '2025-01-01T00:00:00Z',
    },
  ])
  const before = harness.cluster.writes.length
  await harness.step(600_000)
  expect(harness.cluster.writes).toHaveLength(before)
})

it('a deleted range that nothing uses stays for the 10 s in which it may still be given out', async () => {
  await startWith([range('more', '10.1.0.0/24')], [address('10.2.0.7')])
  harness.cluster.remove(harness.resources.serviceCidrs, 'more')
  await harness.step(9000)
  expect(now('more')).toBeDefined()
  await harness.step(1000)
  expect(now('more')).toBeUndefined()
})

describe('a deleted range', () => {
  const main = range('main', '10.0.0.0/16')
  const inner = range('inner', '10.0.1.0/24')
  const dual = range('dual', '10.0.0.0/24', 'fd00::/112')
  it.each<[string, string, readonly KubeObject[], readonly KubeObject[], boolean]>([
    ['with an address of its own stays', 'main', [main], [address('10.0.9.9')], true],
    ['inside of another goes', 'inner', [main, inner], [address('10.0.1.5')], false],
    ['around another stays for the rest', 'main', [main, inner], [address('10.0.2.5')], true],
    ['around another goes without a rest', 'main', [main, inner], [address('10.0.1.5')], false],
    [
      'equal to another goes',
      'twin',
      [main, range('twin', '10.0.0.0/16')],
      [address('10.0.0.5')],
      false,
    ],
    ['stays for its second family', 'dual', [main, dual], [address('fd00::5')], true],
    ['goes when only its first family is used', 'dual', [main, dual], [address('10.0.0.5')], false],
    [
      'stays for the address that the other does not give out',
      'inner',
      [range('half', '10.0.1.0/25'), inner],
      [address('10.0.1.127')],
      true,
    ],
  ])('%s', async (_, name, ranges, addresses, stays) => {
    await startWith(ranges, addresses)
    await remove(name)
    expect(now(name) !== undefined).toBe(stays)
    if (stays) expect(readyOf(name)).toBe('False Terminating')
  })

  it('does not stay for addresses that others than the allocator made', async () => {
    const foreign = address('10.0.9.9')
    foreign.metadata.labels = {}
    await startWith([main], [foreign])
    await remove('main')
    expect(now('main')).toBeUndefined()
  })

  it('goes with its last address', async () => {
    await startWith([main], [address('10.0.9.9'), address('10.0.9.8')])
    await remove('main')
    const { cluster, resources } = harness
    cluster.remove(resources.ipAddresses, '10.0.9.9')
    await harness.step()
    expect(now('main')).toBeDefined()
    cluster.remove(resources.ipAddresses, '10.0.9.8')
    await harness.step()
    expect(now('main')).toBeUndefined()
  })

  it('goes once another range has its addresses', async () => {
    await startWith([main], [address('10.0.9.9')])
    await remove('main')
    const { cluster, resources } = harness
    cluster.seed(resources.serviceCidrs, range('wide', '10.0.0.0/8'))
    await harness.step()
    expect(now('main')).toBeUndefined()
    expect(readyOf('wide')).toBe('True')
  })
})

it('a status that cannot be written is reported and tried again', async () => {
  harness = createReconcilerHarness({ gates: { MultiCIDRServiceAllocator: true } })
  const { cluster, resources } = harness
  cluster.seed(resources.serviceCidrs, range('more', '10.1.0.0/24'))
  let refusals = 2
  cluster.react('patch', 'servicecidrs/status', () => {
    if (refusals === 0) return undefined
    refusals -= 1
    throw new Error('the server is away')
  })
  await harness.start(serviceCidrController)
  await harness.step(1000)
  expect(readyOf('more')).toBe('True')
  expect(harness.events[0]).toBe(
    'Warning KubernetesServiceCIDRError ServiceCIDR more: The ServiceCIDR Status can not be set to Ready=True',
  )
})
