/** write-options: the query of writes and the body of deletes -> checked options (upstream: metav1.{Create,Update,Patch,Delete}Options). */
import type { Dialect } from '../../api/dialect.ts'
import { FieldPath } from '../../machinery/validation/field-path.ts'
import { validateFieldManager } from '../../machinery/validation/object-meta-validation.ts'
import { badRequest, invalid, type FieldError } from '../../machinery/objects/status-error.ts'
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import type { DeleteRequest } from '../request/write.ts'
import { queryFlag } from '../request/request-info.ts'

/** The field of DeleteOptions that asks to delete an object that cannot be read (upstream: KEP-3926). */
export const ignoreReadErrorsField = 'ignoreStoreReadErrorWithClusterBreakingPotential'

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldValidation: FieldValidation
  readonly fieldManager: string
}

export type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions'

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

function fieldManagerFaults(fieldManager: string): readonly FieldError[] {
  if (fieldManager === '') return []
  const at = FieldPath.root('fieldManager')
  validateFieldManager(fieldManager, at)
  return at.errors
}

function refuse(dialect: Dialect, kind: OptionsKind, errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  throw invalid({ group: `meta.${dialect.apiDomain}`, kind }, '', errors)
}

/** Options of a create or update; throws a 422 with upstream's causes. */
export function writeOptionsOf(
  query: URLSearchParams,
  kind: OptionsKind,
  dialect: Dialect,
): WriteOptions {
  return checkedOptions(query, [], { kind, dialect })
}

/** Options of a patch; only applies must name their manager, and only they may be forced. */
export function patchOptionsOf(
  query: URLSearchParams,
  { isApply, dialect }: { isApply: boolean; dialect: Dialect },
): WriteOptions & { readonly force: boolean } {
  const errors: FieldError[] = []
  if (isApply && !query.get('fieldManager')) {
    const message = 'Required value: is required for apply patch'
    errors.push({ field: 'fieldManager', type: 'FieldValueRequired', message })
  }
  if (!isApply && query.has('force')) {
    const message = 'Forbidden: may not be specified for non-apply patch'
    errors.push({ field: 'force', type: 'FieldValueForbidden', message })
  }
  return {
    ...checkedOptions(query, errors, { kind: 'PatchOptions', dialect }),
    force: queryFlag(query, 'force'),
  }
}

function checkedOptions(
  query: URLSearchParams,
  errors: FieldError[],
  { kind, dialect }: { kind: OptionsKind; dialect: Dialect },
): WriteOptions {
  const dryRuns = query.getAll('dryRun')
  const fieldValidation = query.get('fieldValidation') ?? ''
  const fieldManager = query.get('fieldManager') ?? ''
  errors.push(...fieldManagerFaults(fieldManager))
  const fault = dryRunFault(dryRuns)
  if (fault !== undefined) errors.push(fault)
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(fieldValidation)) {
    errors.push(
      notSupported('fieldValidation', `"${fieldValidation}"`, ['', 'Ignore', 'Strict', 'Warn']),
    )
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
> & {
  readonly orphanDependents: boolean | undefined
  /** An object that cannot be read is to be removed all the same. */
  readonly ignoreReadErrors: boolean
}

const policies = ['Foreground', 'Background', 'Orphan'] as const

function seconds(value: unknown, where: string): number | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw badRequest(`${where}: invalid value ${JSON.stringify(value)}`)
  return number
}

/** The unsafe option stands alone: nothing else can hold for an object that cannot be read. */
function besideUnsafe(given: Record<string, unknown>, dryRuns: readonly string[]): FieldError[] {
  const others = ['propagationPolicy', 'orphanDependents', 'gracePeriodSeconds', 'preconditions']
  const set = others.filter((name) => given[name] !== undefined && given[name] !== null)
  return [...(dryRuns.length > 0 ? ['dryRun'] : []), ...set].map((name) =>
    invalidValue(ignoreReadErrorsField, {
      value: true,
      detail: `cannot be set together with .${name}`,
    }),
  )
}

/**
 * Options of a delete: those in the body win over those in the query, as upstream. `allowUnsafe` says whether the gate of the
 * unsafe option is on; else the option counts as not given.
 */
export function deleteOptionsOf(
  query: URLSearchParams,
  body: Record<string, unknown> | undefined,
  at: { dialect: Dialect; allowUnsafe: boolean },
): DeleteOptions {
  const given = body ?? Object.fromEntries(query)
  const dryRuns =
    body === undefined
      ? query.getAll('dryRun')
      : ((body['dryRun'] ?? query.getAll('dryRun')) as string[])
  const policy = given['propagationPolicy'] as string | undefined
  const orphanDependents = orphanDependentsOf(query, body)
  const preconditions = (body?.['preconditions'] ?? {}) as Record<string, string>
  const grace = seconds(given['gracePeriodSeconds'], 'gracePeriodSeconds')
  const ignoreReadErrors =
    at.allowUnsafe &&
    (body === undefined
      ? queryFlag(query, ignoreReadErrorsField)
      : body[ignoreReadErrorsField] === true)
  const errors: FieldError[] = []
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
  if (ignoreReadErrors) errors.push(...besideUnsafe(given, dryRuns))
  refuse(at.dialect, 'DeleteOptions', errors)
  return {
    dryRun: dryRuns.includes('All'),
    // As upstream: less than nothing is the shortest grace that is one.
    gracePeriodSeconds: grace !== undefined && grace < 0 ? 1 : grace,
    orphanDependents,
    ignoreReadErrors,
    preconditions: {
      ...(preconditions['uid'] === undefined ? {} : { uid: preconditions['uid'] }),
      ...(preconditions['resourceVersion'] === undefined
        ? {}
        : { resourceVersion: preconditions['resourceVersion'] }),
    },
    propagation: known ?? orphanPolicy(orphanDependents),
  }
}

function orphanDependentsOf(
  query: URLSearchParams,
  body: Record<string, unknown> | undefined,
): boolean | undefined {
  if (body !== undefined) return (body['orphanDependents'] ?? undefined) as boolean | undefined
  return query.has('orphanDependents') ? queryFlag(query, 'orphanDependents') : undefined
}

function orphanPolicy(orphanDependents: boolean | undefined): DeleteRequest['propagation'] {
  if (orphanDependents === undefined) return undefined
  return orphanDependents ? 'Orphan' : 'Background'
}
