/** Columns of the small groups that set up a cluster: policy, coordination, scheduling, node, flow control, resources, storage versions. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import { ageColumn, column, firstOf, length, nameColumn, tablePrinter } from './table-printer.ts'

export const policyPrinters: Readonly<Record<string, TablePrinter>> = {
  poddisruptionbudgets: tablePrinter(
    nameColumn,
    column(['Min Available', 'Pods that must stay available.'], (budget) =>
      String(budget['spec']?.minAvailable ?? 'N/A'),
    ),
    column(['Max Unavailable', 'Pods that may be unavailable.'], (budget) =>
      String(budget['spec']?.maxUnavailable ?? 'N/A'),
    ),
    column(
      ['Allowed Disruptions', 'Pods that may be evicted now.'],
      (budget) => budget['status']?.disruptionsAllowed ?? 0,
      { type: 'integer' },
    ),
    ageColumn,
  ),
}

export const coordinationPrinters: Readonly<Record<string, TablePrinter>> = {
  leasecandidates: tablePrinter(
    nameColumn,
    column(['LeaseName', 'Lease it is a candidate for.'], (o) => o['spec']?.leaseName ?? ''),
    column(['BinaryVersion', 'Version of the candidate.'], (o) => o['spec']?.binaryVersion ?? ''),
    column(
      ['EmulationVersion', 'Version it emulates.'],
      (object) => object['spec']?.emulationVersion ?? '',
    ),
    ageColumn,
  ),
  leases: tablePrinter(
    nameColumn,
    column(['Holder', 'Who holds the lease.'], (lease) => lease['spec']?.holderIdentity ?? ''),
    ageColumn,
  ),
}

export const schedulingPrinters: Readonly<Record<string, TablePrinter>> = {
  priorityclasses: tablePrinter(
    nameColumn,
    column(['Value', 'The priority.'], (object) => object['value'] ?? 0, { type: 'integer' }),
    column(
      ['Global-Default', 'Whether pods without a class get it.'],
      (object) => object['globalDefault'] ?? false,
      { type: 'boolean' },
    ),
    ageColumn,
    column(
      ['PreemptionPolicy', 'Whether its pods may displace others.'],
      (object) => object['preemptionPolicy'] ?? '',
    ),
  ),
}

export const nodePrinters: Readonly<Record<string, TablePrinter>> = {
  runtimeclasses: tablePrinter(
    nameColumn,
    column(['Handler', 'Runtime configuration on the nodes.'], (object) => object['handler'] ?? ''),
    ageColumn,
  ),
}

function queueSetting(level: KubeObject, field: string): string | number {
  return level['spec']?.limited?.limitResponse?.queuing?.[field] ?? '<none>'
}

export const flowcontrolPrinters: Readonly<Record<string, TablePrinter>> = {
  flowschemas: tablePrinter(
    nameColumn,
    column(
      ['PriorityLevel', 'Level its requests go to.'],
      (schema) => schema['spec']?.priorityLevelConfiguration?.name ?? '',
    ),
    column(
      ['MatchingPrecedence', 'Lower numbers are tried first.'],
      (schema) => schema['spec']?.matchingPrecedence ?? 0,
    ),
    column(
      ['DistinguisherMethod', 'What makes a flow of its own.'],
      (schema) => schema['spec']?.distinguisherMethod?.type ?? '<none>',
    ),
    ageColumn,
    column(
      ['MissingPL', 'Whether its level does not exist.'],
      (schema) =>
        (schema['status']?.conditions ?? []).find(
          (condition: { type?: string }) => condition.type === 'Dangling',
        )?.status ?? '?',
    ),
  ),
  prioritylevelconfigurations: tablePrinter(
    nameColumn,
    column(['Type', 'Exempt or Limited.'], (level) => level['spec']?.type ?? ''),
    column(
      ['NominalConcurrencyShares', 'Its share of the requests in flight.'],
      (level) => level['spec']?.limited?.nominalConcurrencyShares ?? '<none>',
    ),
    column(['Queues', 'Number of queues.'], (level) => queueSetting(level, 'queues')),
    column(['HandSize', 'Queues a flow is spread over.'], (level) =>
      queueSetting(level, 'handSize'),
    ),
    column(['QueueLengthLimit', 'Requests that may wait in a queue.'], (level) =>
      queueSetting(level, 'queueLengthLimit'),
    ),
    ageColumn,
  ),
}

function claimState(claim: KubeObject): string {
  const isDeleted = claim.metadata.deletionTimestamp !== undefined
  const { allocation, reservedFor } = claim['status'] ?? {}
  const states = isDeleted ? ['deleted'] : []
  if (allocation === undefined) {
    if (!isDeleted) states.push('pending')
  } else {
    states.push('allocated')
    if (length(reservedFor) > 0) states.push('reserved')
  }
  return states.join(',')
}

const nameAndAge = tablePrinter(nameColumn, ageColumn)

export const resourcePrinters: Readonly<Record<string, TablePrinter>> = {
  deviceclasses: nameAndAge,
  resourceclaims: tablePrinter(
    nameColumn,
    column(['State', 'Whether it is pending, allocated or in use.'], claimState),
    ageColumn,
  ),
  resourceclaimtemplates: nameAndAge,
  resourceslices: tablePrinter(
    nameColumn,
    column(['Node', 'Node the devices are on.'], (slice) => slice['spec']?.nodeName ?? ''),
    column(['Driver', 'Driver of the devices.'], (slice) => slice['spec']?.driver ?? ''),
    column(['Pool', 'Pool the devices belong to.'], (slice) => slice['spec']?.pool?.name ?? ''),
    ageColumn,
  ),
}

export const internalPrinters: Readonly<Record<string, TablePrinter>> = {
  storageversions: tablePrinter(
    nameColumn,
    column(
      ['CommonEncodingVersion', 'Version that all servers store in.'],
      (object) => object['status']?.commonEncodingVersion ?? '<unset>',
    ),
    column(['StorageVersions', 'Version that each server stores in.'], (object) =>
      firstOf(
        (object['status']?.storageVersions ?? []).map(
          (each: { apiServerID?: string; encodingVersion?: string }) =>
            `${each.apiServerID ?? ''}=${each.encodingVersion ?? ''}`,
        ),
      ),
    ),
    ageColumn,
  ),
}

export const storagemigrationPrinters: Readonly<Record<string, TablePrinter>> = {
  storageversionmigrations: tablePrinter(
    column(['Name', nameColumn.column.description], nameColumn.cell),
    column(['Resource', 'Resource that is written anew.'], (object) => {
      const { resource = '', version = '', group = '' } = object['spec']?.resource ?? {}
      return `${resource}.${version}.${group}`
    }),
  ),
}
