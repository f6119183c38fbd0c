/**
 * Marks ServiceCIDRs ready, and keeps a deleted one until no address of a Service is left in it alone (upstream:
 * pkg/controller/servicecidrs; KEP-1880).
 */
import {
  offersAddress,
  rangesOf,
  rangesOverlap,
  serviceRangeKeys,
  type IpAddressObject,
  type ServiceCidr,
} from '../../api/service-ranges.ts'
import { runController, source, type Result } from '../../client/controller.ts'
import { timestamp } from '../../component-base/clock.ts'
import { parseIpAddress } from '../../machinery/validation/ip-address.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { findCondition } from '../conditions.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { mayGo } from './may-go.ts'

const name = 'service-cidr-controller'

/** So long the API server may still give out addresses of a range that is being deleted. */
const deletionGraceMs = 10_000

const ready = {
  type: 'Ready',
  status: 'True',
  reason: '',
  message: 'Kubernetes Service CIDR is ready',
}

const terminating = {
  type: 'Ready',
  status: 'False',
  reason: 'Terminating',
  message:
    'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
}

function nameOf({ metadata }: ServiceCidr): string {
  return metadata.name ?? ''
}

interface Tools extends ControllerContext {
  readonly cidrs: () => readonly ServiceCidr[]
  readonly addresses: () => readonly IpAddressObject[]
}

/** Says it once: a condition that is as wanted is not written again. */
async function setReady(
  { client, resources, clock }: Tools,
  cidr: ServiceCidr,
  wanted: typeof ready,
): Promise<void> {
  const { serviceCidrs } = resources
  const found = findCondition(cidr.status?.conditions, 'Ready')
  const { status, reason = '', message } = found ?? {}
  if (status === wanted.status && reason === wanted.reason && message === wanted.message) return
  const condition = { ...wanted, lastTransitionTime: timestamp(clock.now()) }
  const patch = {
    apiVersion: apiVersionOf(serviceCidrs),
    kind: serviceCidrs.kind,
    metadata: { name: nameOf(cidr) },
    status: { conditions: [condition] },
  }
  await client.resource(serviceCidrs).patch({ name: nameOf(cidr) }, patch, {
    type: 'apply',
    subresource: 'status',
    fieldManager: name,
    force: true,
  })
}

async function setFinalizers(tools: Tools, cidr: ServiceCidr, finalizers: string[]): Promise<void> {
  const client = tools.client.resource<ServiceCidr>(tools.resources.serviceCidrs)
  await client.update({ ...cidr, metadata: { ...cidr.metadata, finalizers } })
}

async function settleDeleted(tools: Tools, cidr: ServiceCidr): Promise<Result | void> {
  const { finalizer } = serviceRangeKeys(tools.dialect)
  const { finalizers = [], deletionTimestamp = '' } = cidr.metadata
  if (!finalizers.includes(finalizer)) return
  if (
    !mayGo(cidr, { cidrs: tools.cidrs(), addresses: tools.addresses(), dialect: tools.dialect })
  ) {
    await setReady(tools, cidr, terminating)
    return
  }
  const leftMs = Date.parse(deletionTimestamp) + deletionGraceMs - tools.clock.now()
  if (leftMs > 0) return { requeueAfterMs: leftMs }
  await setFinalizers(
    tools,
    cidr,
    finalizers.filter((one) => one !== finalizer),
  )
}

async function settle(tools: Tools, cidr: ServiceCidr): Promise<Result | void> {
  const { finalizers = [], deletionTimestamp } = cidr.metadata
  if (deletionTimestamp !== undefined) return await settleDeleted(tools, cidr)
  const { finalizer } = serviceRangeKeys(tools.dialect)
  if (!finalizers.includes(finalizer)) await setFinalizers(tools, cidr, [...finalizers, finalizer])
  try {
    await setReady(tools, cidr, ready)
  } catch (error) {
    const message = 'The ServiceCIDR Status can not be set to Ready=True'
    tools.recorder.record(cidr, { type: 'Warning', reason: 'KubernetesServiceCIDRError', message })
    throw error
  }
}

/** Runs until `signal` aborts. */
async function runServiceCidrs(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { informers, resources, clock, log, queues } = context
  const cidrs = informers.informer<ServiceCidr>(resources.serviceCidrs)
  const addresses = informers.informer<IpAddressObject>(resources.ipAddresses)
  const tools = { ...context, cidrs: () => cidrs.list(), addresses: () => addresses.list() }
  /** A range that comes or goes can free, or hold, those that share addresses with it. */
  const sharing = (cidr: ServiceCidr): string[] => {
    const ranges = rangesOf(cidr)
    const overlaps = (other: ServiceCidr): boolean =>
      rangesOf(other).some((one) => ranges.some((range) => rangesOverlap(one, range)))
    return [nameOf(cidr), ...cidrs.list().filter(overlaps).map(nameOf)]
  }
  const containing = ({ metadata }: IpAddressObject): string[] => {
    const address = parseIpAddress(metadata.name ?? '')
    if (address === undefined) return []
    const contains = (cidr: ServiceCidr): boolean =>
      rangesOf(cidr).some((range) => offersAddress(range, address))
    return cidrs.list().filter(contains).map(nameOf)
  }
  await runController(
    {
      name,
      informers: [source(cidrs, sharing), source(addresses, containing)],
      reconcile: async (key) => {
        const cidr = cidrs.get(key)
        return cidr === undefined ? undefined : await settle(tools, cidr)
      },
      workers: 5,
      queue: queues('ipaddresses'),
      clock,
      log,
    },
    signal,
  )
}

export const serviceCidrController: ControllerEntry = {
  name,
  aliases: [],
  defaultOn: true,
  gates: ['MultiCIDRServiceAllocator'],
  start: runServiceCidrs,
}
