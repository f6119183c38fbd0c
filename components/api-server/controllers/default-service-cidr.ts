/**
 * The default ServiceCIDR, with the range of `--service-cluster-ip-range` (upstream: controlplane/controller/
 * defaultservicecidr; KEP-1880). It is made anew when it is deleted, and never changed to another range.
 */
import type { Dialect } from '../../api/dialect.ts'
import { defaultServiceCidrName, type ServiceCidr } from '../../api/service-ranges.ts'
import type { Resources } from '../../api/resources.ts'
import { timestamp } from '../../component-base/clock.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { createOwnRecorder, type OwnRecorderOptions } from './own-recorder.ts'
import { runKeeper } from './run-keeper.ts'

export interface DefaultServiceCidrOptions extends OwnRecorderOptions {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  /** The ranges of the flag. */
  readonly ranges: readonly string[]
}

const source = 'kubernetes-service-cidr-controller'

export function defaultServiceCidr(
  { serviceCidrs }: Pick<Resources, 'serviceCidrs'>,
  dialect: Dialect,
  ranges: readonly string[],
): KubeObject {
  return {
    apiVersion: apiVersionOf(serviceCidrs),
    kind: serviceCidrs.kind,
    metadata: { name: defaultServiceCidrName(dialect) },
    spec: { cidrs: [...ranges] },
  }
}

/** Reports each fault once. */
type Report = (about: KubeObject, reason: string, message: string) => void

function reporter(recorder: EventRecorder, { log }: OwnRecorderOptions): Report {
  const reported = new Set<string>()
  return (about, reason, message) => {
    if (reported.has(reason)) return
    reported.add(reason)
    log.warn('the default ServiceCIDR is not as the flags say', { reason, message })
    recorder.record(about, { type: 'Warning', reason, message })
  }
}

async function settle(
  { reader, client, resources, dialect, ranges, clock }: DefaultServiceCidrOptions,
  report: Report,
): Promise<void> {
  const { serviceCidrs } = resources
  const name = defaultServiceCidrName(dialect)
  const found = reader.get(serviceCidrs, '', name) as ServiceCidr | undefined
  if (found === undefined) {
    await client.create(serviceCidrs, '', defaultServiceCidr(resources, dialect, ranges))
    return
  }
  if (found.metadata.deletionTimestamp !== undefined) return
  const cidrs = found.spec?.cidrs ?? []
  if (!deepEqual(cidrs, ranges)) {
    const message = `The default ServiceCIDR [${cidrs.join(' ')}] does not match the controller flag configurations [${ranges.join(' ')}]`
    report(found, 'KubernetesDefaultServiceCIDRInconsistent', message)
    return
  }
  const conditions = found.status?.conditions ?? []
  const ready = conditions.find(({ type }) => type === 'Ready')
  if (ready?.status === 'False') {
    report(found, ready.reason ?? '', `Configuration matches, but ${ready.message ?? ''}`)
  }
  if (ready !== undefined && ready.status !== 'Unknown') return
  const now = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'Kubernetes default Service CIDR is ready',
    lastTransitionTime: timestamp(clock.now()),
  }
  const others = conditions.filter(({ type }) => type !== 'Ready')
  await client.updateStatus(serviceCidrs, '', {
    ...found,
    status: { conditions: [...others, now] },
  })
}

/** Runs until `signal` aborts. */
export async function keepDefaultServiceCidr(
  options: DefaultServiceCidrOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, resources, dialect, clock, log } = options
  const recorder = createOwnRecorder(options, source)
  const report = reporter(recorder, options)
  const name = defaultServiceCidrName(dialect)
  await Promise.all([
    recorder.run(signal),
    runKeeper(
      {
        name: 'default-service-cidr',
        reconcile: () => settle(options, report),
        watch: (add) => {
          add(name)
          return [
            reader.onChange(resources.serviceCidrs, ({ key }) => {
              if (key === name) add(name)
            }),
          ]
        },
        clock,
        log,
      },
      signal,
    ),
  ])
}
