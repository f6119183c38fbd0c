/** write-options: the query of writes and the body of deletes -> checked options (upstream: metav1.{Create,Update,Patch,Delete}Options). */
import type { Dialect } from '../api/dialect.ts'
import { badRequest, invalid, type FieldError } from '../machinery/status-error.ts'
import type { DeleteRequest } from './registry/write.ts'

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldValidation: FieldValidation
  readonly fieldManager: string
}

export type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions'

const longestFieldManager = 128

function notSupported(field: string, shown: string, supported: readonly string[]): FieldError {
  const list = supported.map((value) => `"${value}"`).join(', ')
  return {
    field,
    type: 'FieldValueNotSupported',
    message: `Unsupported value: ${shown}: supported values: ${list}`,
  }
}

function dryRunFault(values: readonly string[]): FieldError | undefined {
  if (values.every((value) => value === 'All' || value === '')) return undefined
  const shown = `[]string{${values.map((value) => `"${value}"`).join(', ')}}`
  return notSupported('dryRun', shown, ['All'])
}

function refuse(dialect: Dialect, kind: OptionsKind, errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  throw invalid({ group: `meta.${dialect.apiDomain}`, kind }, '', errors)
}

/** Options of a create, update or patch; throws a 422 with upstream's causes. */
export function writeOptionsOf(
  query: URLSearchParams,
  kind: OptionsKind,
  dialect: Dialect,
): WriteOptions {
  const dryRuns = query.getAll('dryRun')
  const fieldValidation = query.get('fieldValidation') ?? ''
  const fieldManager = query.get('fieldManager') ?? ''
  const errors: FieldError[] = []
  const fault = dryRunFault(dryRuns)
  if (fault !== undefined) errors.push(fault)
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(fieldValidation)) {
    errors.push(
      notSupported('fieldValidation', `"${fieldValidation}"`, ['', 'Ignore', 'Strict', 'Warn']),
    )
  }
  if (fieldManager.length > longestFieldManager) {
    errors.push({
      field: 'fieldManager',
      type: 'FieldValueTooLong',
      message: `Too long: may not be more than ${longestFieldManager} bytes`,
    })
  }
  refuse(dialect, kind, errors)
  return {
    dryRun: dryRuns.includes('All'),
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
    fieldManager,
  }
}

export type DeleteOptions = Pick<
  DeleteRequest,
  'dryRun' | 'gracePeriodSeconds' | 'preconditions' | 'propagation'
> & { readonly orphanDependents: boolean | undefined }

const policies = ['Foreground', 'Background', 'Orphan'] as const

function seconds(value: unknown, where: string): number | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw badRequest(`${where}: invalid value ${JSON.stringify(value)}`)
  return number
}

/** Options of a delete: those in the body win over those in the query, as upstream. */
export function deleteOptionsOf(
  query: URLSearchParams,
  body: Record<string, unknown> | undefined,
  dialect: Dialect,
): DeleteOptions {
  const given = body ?? Object.fromEntries(query)
  const dryRuns =
    body === undefined
      ? query.getAll('dryRun')
      : ((body['dryRun'] ?? query.getAll('dryRun')) as string[])
  const policy = given['propagationPolicy'] as string | undefined
  const orphan = given['orphanDependents']
  const orphanDependents =
    orphan === undefined || orphan === null ? undefined : orphan === true || orphan === 'true'
  const preconditions = (body?.['preconditions'] ?? {}) as Record<string, string>
  const gracePeriodSeconds = seconds(given['gracePeriodSeconds'], 'gracePeriodSeconds')
  const errors: FieldError[] = []
  if (gracePeriodSeconds !== undefined && gracePeriodSeconds < 0) {
    errors.push({
      field: 'gracePeriodSeconds',
      type: 'FieldValueInvalid',
      message: `Invalid value: ${gracePeriodSeconds}: must be greater than or equal to 0`,
    })
  }
  const known = policies.find((name) => name === policy)
  if (policy !== undefined && policy !== '' && known === undefined) {
    errors.push(notSupported('propagationPolicy', `"${policy}"`, [...policies, 'nil']))
  } else if (known !== undefined && orphanDependents !== undefined) {
    errors.push({
      field: 'propagationPolicy',
      type: 'FieldValueInvalid',
      message: `Invalid value: "${known}": orphanDependents and deletionPropagation cannot be both set`,
    })
  }
  const fault = dryRunFault(dryRuns)
  if (fault !== undefined) errors.push(fault)
  refuse(dialect, 'DeleteOptions', errors)
  return {
    dryRun: dryRuns.includes('All'),
    gracePeriodSeconds,
    orphanDependents,
    preconditions: {
      ...(preconditions['uid'] === undefined ? {} : { uid: preconditions['uid'] }),
      ...(preconditions['resourceVersion'] === undefined
        ? {}
        : { resourceVersion: preconditions['resourceVersion'] }),
    },
    propagation: known ?? orphanPolicy(orphanDependents),
  }
}

function orphanPolicy(orphanDependents: boolean | undefined): DeleteRequest['propagation'] {
  if (orphanDependents === undefined) return undefined
  return orphanDependents ? 'Orphan' : 'Background'
}
