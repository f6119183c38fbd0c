/** type-checking: the type errors of a policy's expressions (upstream: plugin/policy/validating/typechecking.go). */
import type { ExpressionWarning, ValidatingAdmissionPolicySpec } from '../../api/generated/types.ts'
import { objectKindOf } from '../../api/object-kind.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import { celTypeOfSchema } from '../../cel/cel-schema-types.ts'
import type { CelType } from '../../cel/cel-types.ts'
import { customVersionOf } from '../custom-resources/custom-version.ts'
import { celTypeOf } from '../custom-resources/cel-rules.ts'
import type { Compiled } from '../expressions/composed-variables.ts'
import { compileExpressions } from '../expressions/policy-expressions.ts'

const mostKinds = 10

/** The kinds that the rules name. Wildcards are not checked. */
function kindsOf(spec: ValidatingAdmissionPolicySpec, served: readonly Resource[]): Resource[] {
  const kinds = new Set<Resource>()
  for (const rule of spec.matchConstraints?.resourceRules ?? []) {
    const { apiGroups = [], apiVersions = [], resources = [] } = rule
    if ([...apiGroups, ...apiVersions].some((one) => one.includes('*'))) continue
    const plain = resources.filter((one) => !/[*/]/.test(one))
    for (const kind of served) {
      // Upstream treats the core group as any group.
      const isOfGroup = apiGroups.includes(kind.group) || apiGroups.includes('')
      if (!isOfGroup || !apiVersions.includes(kind.version) || !plain.includes(kind.plural))
        continue
      kinds.add(kind)
      if (kinds.size === mostKinds) break
    }
  }
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
  return [...kinds].toSorted(
    (a, b) => order(a.group, b.group) || order(a.version, b.version) || order(a.kind, b.kind),
  )
}

function typeOf(resource: Resource): CelType {
  const custom = customVersionOf(resource)
  return custom === undefined
    ? celTypeOfSchema(objectKindOf(resource).schema)
    : celTypeOf(custom.openApi, true)
}

function paramsOf(
  spec: ValidatingAdmissionPolicySpec,
  served: readonly Resource[],
): CelType | undefined {
  const { apiVersion, kind } = spec.paramKind ?? {}
  const found = served.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion)
  return found && typeOf(found)
}

export function typeWarnings(
  spec: ValidatingAdmissionPolicySpec,
  served: readonly Resource[],
): ExpressionWarning[] {
  const params = paramsOf(spec, served)
  const found = new Map<string, string[]>()
  for (const kind of kindsOf(spec, served)) {
    const object = typeOf(kind)
    const note = (place: string, program: Compiled | undefined): void => {
      if (!(program instanceof Error)) return
      const why = program.message.replace(/^compilation failed: /, '')
      const of = `${kind.group}/${kind.version}, Kind=${kind.kind}`
      found.set(place, [...(found.get(place) ?? []), `${of}: ${why}\n`])
    }
    for (const [i, one] of compileExpressions(spec, { object, params }).validations.entries()) {
      note(`spec.validations[${i}].expression`, one.program)
      note(`spec.validations[${i}].messageExpression`, one.messageProgram)
    }
  }
  return [...found]
    .map(([fieldRef, texts]) => ({ fieldRef, warning: texts.join('\n') }))
    .toSorted((a, b) => a.fieldRef.localeCompare(b.fieldRef, 'en', { numeric: true }))
}
