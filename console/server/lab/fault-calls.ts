/** Faults of the lab for the page: their rows, and what it adds and heals. */
import { faultShape } from '../../../cluster/lab/check-fault.ts'
import { describeFault } from '../../../cluster/lab/describe-fault.ts'
import type { FaultStatus } from '../../../cluster/lab/fault-spec.ts'
import type { LabFaults } from '../../../cluster/lab/lab.ts'
import { pathText } from '../../../cluster/path.ts'
import type { Issue } from '../../../cluster/shape.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import type { FaultRow } from '../../protocol/live.ts'

export function faultRow({ name, spec, fired, ended, sinceMs }: FaultStatus): FaultRow {
  const { kind, times, forMs } = spec
  return {
    key: `${name} ${sinceMs}`,
    name,
    kind,
    text: describeFault(spec),
    fired,
    sinceMs,
    ...(ended === undefined ? {} : { ended }),
    ...(times === undefined ? {} : { times }),
    ...(forMs === undefined ? {} : { untilMs: sinceMs + forMs }),
  }
}

/** Throws a StatusError with a cause for each invalid field, and the authority's ClusterError. */
export async function addFault(faults: LabFaults, value: unknown): Promise<FaultRow> {
  const issues: Issue[] = []
  const spec = faultShape.check(value, [], issues)
  if (issues.length === 0) return faultRow(await faults.add(spec))
  const causes = issues.map(({ path, message }) => ({
    reason: 'FieldValueInvalid',
    field: pathText(path),
    message,
  }))
  const lines = causes.map(({ field, message }) =>
    field === '' ? message : `${field}: ${message}`,
  )
  throw new StatusError('Invalid', `invalid fault: ${lines.join('; ')}`, { details: { causes } })
}
