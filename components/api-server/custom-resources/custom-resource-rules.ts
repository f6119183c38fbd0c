/**
 * Rules in CEL of a definition's schema: whether they can be used, and what they may cost (upstream: apiextensions validation.go,
 * cel_validation.go).
 */
import type { JSONSchemaProps, ValidationRule } from '../../api/generated/types.ts'
import type { FieldPath } from '../../machinery/validation/field-path.ts'
import { goStruct, GoText } from '../../machinery/values/go-syntax.ts'
import { additionalOf, itemsOf } from './schema-parts.ts'

export type RulesModule = typeof import('./cel-rules.ts')

/** Of one expression, as often as it may be evaluated; and of all of a schema. */
const mostOfOne = 10_000_000
const mostOfAll = 100_000_000
/** Expressions that cost less than this are not named when all cost too much; nor are more than four. */
const leastNamed = mostOfAll / 100
const mostNamed = 4
const largest = 2 ** 64

interface Costly {
  readonly at: FieldPath
  readonly cost: number
}

interface Walk {
  readonly rules: RulesModule
  readonly isWhole: boolean
  /** How often the value can stand in an object; undefined without a bound. */
  readonly times: number | undefined
  /** Where a part begins whose elements cannot be matched with those before the update. */
  readonly uncorrelated: string | undefined
  /** Undefined where costs do not count. */
  readonly costs: Costly[] | undefined
}

/** As Go prints the whole rule. */
function shownRule(validation: ValidationRule): GoText {
  const { rule, message, messageExpression, reason, fieldPath } = validation
  return goStruct('apiextensions.ValidationRule', {
    Rule: rule,
    Message: message ?? '',
    MessageExpression: messageExpression ?? '',
    Reason: new GoText(
      reason === undefined ? '(*apiextensions.FieldValueErrorReason)(nil)' : JSON.stringify(reason),
    ),
    FieldPath: fieldPath ?? '',
    OptionalOldSelf: new GoText('(*bool)(nil)'),
  })
}

function tooCostly(what: string, cost: number, most: number): string {
  const factor = cost / most
  const shown =
    factor > 100
      ? 'more than 100x'
      : factor < 1.5
        ? `${factor.toFixed(6)}x`
        : `${factor.toFixed(1)}x`
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

/** How many elements a list or map may have; 1 for what is neither, undefined without a bound. */
function mostElements(schema: JSONSchemaProps): number | undefined {
  if (schema.type === 'array') return schema.maxItems && Math.max(0, schema.maxItems)
  if (schema.type !== 'object' || schema.additionalProperties === undefined) return 1
  return schema.maxProperties && Math.max(0, schema.maxProperties)
}

function checkParts(schema: JSONSchemaProps, at: FieldPath, walk: Walk): void {
  const own = mostElements(schema)
  const times =
    own === undefined || walk.times === undefined ? undefined : Math.min(own * walk.times, largest)
  const inner = { ...walk, times, isWhole: false }
  const isAtomic = schema['x-kubernetes-map-type'] === 'atomic'
  const field = isAtomic ? { ...inner, uncorrelated: walk.uncorrelated ?? at.toString() } : inner
  const additional = additionalOf(schema)
  if (additional !== undefined) check(additional, at.child('additionalProperties'), field)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    check(property, at.child('properties').key(name), field)
  }
  const items = itemsOf(schema)
  if (items === undefined) return
  const isMap = schema['x-kubernetes-list-type'] === 'map'
  const item = isMap ? inner : { ...inner, uncorrelated: walk.uncorrelated ?? at.toString() }
  check(items, at.child('items'), item)
}

function check(schema: JSONSchemaProps, at: FieldPath, walk: Walk): void {
  checkParts(schema, at, walk)
  const specs = schema['x-kubernetes-validations'] ?? []
  if (specs.length === 0) return
  const isWhole = walk.isWhole || schema['x-kubernetes-embedded-resource'] === true
  const { rulesOfSchema, ruleCosts } = walk.rules
  const rules = rulesOfSchema(schema, isWhole)
  const costOf = walk.costs && ruleCosts(schema, isWhole)
  const note = (place: FieldPath, what: string, cost: number): void => {
    if (cost > mostOfOne) place.forbidden(tooCostly(`estimated ${what} cost`, cost, mostOfOne))
    walk.costs?.push({ at: place, cost })
  }
  for (const { index, program, message, faults } of rules) {
    const spec = specs[index]
    if (spec === undefined) continue
    const ruleAt = at.child('x-kubernetes-validations').index(index)
    if (costOf && program) {
      const cost = costOf(program)
      note(ruleAt.child('rule'), 'rule', Math.min(cost.once * (walk.times ?? cost.times), largest))
    }
    for (const { field, detail } of faults) ruleAt.child(field).invalid(shownRule(spec), detail)
    if (costOf && message) {
      note(ruleAt.child('messageExpression'), 'messageExpression', costOf(message).once)
    }
    if (program === undefined) continue
    if (!program.uses('oldSelf')) {
      if (spec.optionalOldSelf === undefined) continue
      ruleAt
        .child('optionalOldSelf')
        .invalid(spec.optionalOldSelf, 'may not be set if oldSelf is not used in rule')
    } else if (walk.uncorrelated !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${walk.uncorrelated}`
      ruleAt.child('rule').invalid(spec.rule, why)
    }
  }
}

/** All rules in the schema of whole objects. */
export function validateCelRules(
  schema: JSONSchemaProps,
  at: FieldPath,
  { rules, withCosts }: { rules: RulesModule; withCosts: boolean },
): void {
  const costs: Costly[] | undefined = withCosts ? [] : undefined
  check(schema, at, { rules, isWhole: true, times: 1, uncorrelated: undefined, costs })
  const total = (costs ?? []).reduce((sum, { cost }) => Math.min(sum + cost, largest), 0)
  if (total <= mostOfAll) return
  const named = (costs ?? [])
    .filter(({ cost }) => cost >= leastNamed)
    .toSorted((a, b) => b.cost - a.cost)
    .slice(0, mostNamed)
  for (const { at: place } of named) {
    place.forbidden(
      'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    )
  }
  const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
  at.forbidden(tooCostly(what, total, mostOfAll))
}
