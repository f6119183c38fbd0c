/** Approval of definitions in the project's own domains (upstream: apihelpers, pkg/controller/apiapproval). */
import type { Dialect } from '../../api/dialect.ts'
import type { CustomResourceDefinition } from '../../api/generated/types.ts'
import type { Condition } from './accepted-names.ts'

const page = 'https://github.com/kubernetes/enhancements/pull/1111'

export interface Approval {
  readonly state: 'missing' | 'approved' | 'bypassed' | 'invalid'
  readonly why: string
}

/** The annotation that lets a definition into such a group. */
export function approvalKey(dialect: Dialect): string {
  return `api-approved.${dialect.labelDomain}`
}

/** How the definition is approved; undefined for groups that need no approval. */
export function approvalOf(
  { metadata, spec }: CustomResourceDefinition,
  dialect: Dialect,
): Approval | undefined {
  const { group = '' } = spec
  const domains = [dialect.apiDomain, dialect.labelDomain]
  if (!domains.some((domain) => group === domain || group.endsWith(`.${domain}`))) return undefined
  const key = approvalKey(dialect)
  const text = metadata.annotations?.[key] ?? ''
  const must = `protected groups must have approval annotation "${key}"`
  if (text === '') return { state: 'missing', why: `${must}, see ${page}` }
  if (text.startsWith('unapproved')) {
    return { state: 'bypassed', why: `not approved: ${JSON.stringify(text)}` }
  }
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]/.test(text)) {
    return { state: 'approved', why: `approved in ${text}` }
  }
  const why = `${must} with either a URL or a reason starting with "unapproved", see ${page}`
  return { state: 'invalid', why }
}

const reasons: Readonly<Record<Approval['state'], string>> = {
  missing: 'MissingAnnotation',
  approved: 'ApprovedAnnotation',
  bypassed: 'UnapprovedAnnotation',
  invalid: 'InvalidAnnotation',
}

/** KubernetesAPIApprovalPolicyConformant, for groups that need an approval. */
export function approvalCondition(
  definition: CustomResourceDefinition,
  dialect: Dialect,
): Condition | undefined {
  const approval = approvalOf(definition, dialect)
  if (approval === undefined) return undefined
  const { state, why } = approval
  return {
    type: 'KubernetesAPIApprovalPolicyConformant',
    status: state === 'approved' ? 'True' : 'False',
    reason: reasons[state],
    message: why,
  }
}
