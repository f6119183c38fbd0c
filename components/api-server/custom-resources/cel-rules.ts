/**
 * Rules in CEL of custom resources' schemas (`x-kubernetes-validations`; upstream: apiextensions-apiserver
 * pkg/apiserver/schema/cel). Loaded when a schema has one.
 */
import type { JSONSchemaProps, ValidationRule } from '../../api/generated/types.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import {
  duplicateValue,
  forbiddenValue,
  invalidValue,
  requiredValue,
} from '../../machinery/validation/field-errors.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import type { FieldError } from '../../machinery/objects/status-error.ts'
import { celOptional, celTyped, compileCel, type CelProgram } from '../../cel/cel.ts'
import { CelEvaluationError } from '../../cel/cel-evaluation.ts'
import {
  bool,
  bytes,
  double,
  duration,
  dyn,
  int,
  listOf,
  mapOf,
  optionalOf,
  string,
  timestamp,
  type CelType,
} from '../../cel/cel-types.ts'
import { elementsBefore, fieldBefore, isAsBefore } from './earlier-value.ts'
import { estimateCel } from '../../cel/cel-estimate.ts'
import { mostTimes, sizedOf } from './sized-schema.ts'
import { escapedName } from './escaped-name.ts'
import { fieldPathText } from './field-path-text.ts'
import { additionalOf, itemsOf } from './schema-parts.ts'

const scalarTypes: Readonly<Record<string, CelType>> = {
  boolean: bool,
  number: double,
  integer: int,
  string,
}
const textTypes: Readonly<Record<string, CelType>> = {
  byte: bytes,
  date: timestamp,
  'date-time': timestamp,
  duration,
}

/** How expressions see values of the schema. `isWhole`: it has the type and the name of an object. */
export function celTypeOf(schema: JSONSchemaProps, isWhole: boolean): CelType {
  if (schema['x-kubernetes-int-or-string'] === true) return dyn
  const { type = '', format = '' } = schema
  if (type === 'string') return (Object.hasOwn(textTypes, format) && textTypes[format]) || string
  if (Object.hasOwn(scalarTypes, type)) return scalarTypes[type] ?? dyn
  if (type === 'array') {
    const items = itemsOf(schema)
    return listOf(items === undefined ? dyn : celTypeOf(items, isEmbedded(items)))
  }
  if (type !== 'object') return dyn
  const additional = additionalOf(schema)
  if (additional !== undefined) return mapOf(string, celTypeOf(additional, isEmbedded(additional)))
  if (schema.additionalProperties === true) return mapOf(string, dyn)
  const fields: Record<string, CelType> = {}
  if (isWhole) {
    const metadata = { name: string, generateName: string }
    Object.assign(fields, {
      apiVersion: string,
      kind: string,
      metadata: { kind: 'object', name: 'metadata', fields: metadata } satisfies CelType,
    })
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const known = escapedName(name)
    if (known === undefined || (isWhole && name === 'metadata')) continue
    fields[known] = celTypeOf(property, isEmbedded(property))
  }
  return { kind: 'object', name: 'object', fields }
}

function isEmbedded(schema: JSONSchemaProps): boolean {
  return schema['x-kubernetes-embedded-resource'] === true
}

/** The value as expressions see it: numbers, times and names as the schema has them. */
function celValue(value: unknown, schema: JSONSchemaProps | undefined): unknown {
  if (schema === undefined || schema['x-kubernetes-int-or-string'] === true) return value
  const { type, format = '' } = schema
  if (typeof value === 'number') return type === 'number' ? celTyped(value, 'double') : value
  if (typeof value === 'string') {
    const kind = Object.hasOwn(textTypes, format) ? textTypes[format]?.kind : undefined
    return kind === 'timestamp' || kind === 'duration' || kind === 'bytes'
      ? celTyped(value, kind)
      : value
  }
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    return value.map((item) => celValue(item, items))
  }
  if (!isRecord(value)) return value
  const additional = additionalOf(schema)
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => {
      const property = getOwn(schema.properties, name)
      if (property === undefined) return [[name, celValue(item, additional)]]
      const known = escapedName(name)
      // What may not be null is not there.
      return known === undefined || item === null ? [] : [[known, celValue(item, property)]]
    }),
  )
}

interface Rule {
  readonly spec: ValidationRule
  readonly program: CelProgram
  readonly message: CelProgram | undefined
  readonly isTransition: boolean
  /** Asked where there is no state before, too. */
  readonly isOptional: boolean
}

/** Throws CelCompileError for the rule, or for what makes its message. */
function compileRule(spec: ValidationRule, self: CelType): Rule {
  const isOptional = spec.optionalOldSelf === true
  const variables = { self, oldSelf: isOptional ? optionalOf(self) : self }
  const program = compileCel(spec.rule, { variables, results: [bool] })
  const { messageExpression } = spec
  const message = messageExpression
    ? compileCel(messageExpression, { variables, results: [string] })
    : undefined
  return { spec, program, message, isTransition: program.uses('oldSelf'), isOptional }
}

export interface RuleOfSchema {
  readonly index: number
  readonly program: CelProgram | undefined
  readonly message: CelProgram | undefined
  /** Why the rule, or what makes its message, cannot be used. */
  readonly faults: readonly { field: 'rule' | 'messageExpression'; detail: string }[]
}

/** The rules of one schema, each compiled as far as it can be; those that are empty are left out. */
export function rulesOfSchema(schema: JSONSchemaProps, isWhole: boolean): RuleOfSchema[] {
  const self = celTypeOf(schema, isWhole)
  const specs = schema['x-kubernetes-validations'] ?? []
  return specs.flatMap((spec, index) => {
    if ((spec.rule ?? '').trim() === '') return []
    const faults: { field: 'rule' | 'messageExpression'; detail: string }[] = []
    const attempt = (field: 'rule' | 'messageExpression', of: ValidationRule): Rule | undefined => {
      try {
        return compileRule(of, self)
      } catch (error) {
        faults.push({ field, detail: (error as Error).message })
        return undefined
      }
    }
    const { messageExpression: _, ...alone } = spec
    const program = attempt('rule', alone)?.program
    const message = attempt('messageExpression', { ...spec, rule: 'true' })?.message
    return [{ index, program, message, faults }]
  })
}

/** What expressions of one schema cost at most: once, and how often the value can stand in an object without a bound. */
export function ruleCosts(
  schema: JSONSchemaProps,
  isWhole: boolean,
): ((program: CelProgram) => { once: number; times: number }) | undefined {
  const sized = sizedOf(schema, isWhole)
  if (sized === undefined) return undefined
  const times = mostTimes(sized)
  return ({ tree }) => ({ once: estimateCel(tree, sized), times })
}

/** Steps that the rules of a whole object may cost (upstream: RuntimeCELCostBudget). */
const costBudget = 10_000_000

/** The rest of the budget. If it is negative, no more rules are evaluated. */
interface Budget {
  left: number
}

interface Place {
  readonly path: string
  readonly isWhole: boolean
  readonly budget: Budget
}

/** The rules of a whole schema: compiled once, when first asked. */
export class SchemaRules {
  readonly #schema: JSONSchemaProps
  readonly #isWhole: boolean
  readonly #compiled = new WeakMap<JSONSchemaProps, readonly Rule[]>()

  /** `isWhole`: of objects with a type and metadata; else of a part of them. */
  constructor(schema: JSONSchemaProps, { isWhole }: { isWhole: boolean }) {
    this.#schema = schema
    this.#isWhole = isWhole
  }

  /** What the rules find; those that look at the state before are asked only where there is one. */
  faults(object: unknown, old: unknown): FieldError[] {
    const budget = { left: costBudget }
    const place = { path: '', isWhole: this.#isWhole, budget }
    return this.#check({ now: object, before: old }, this.#schema, place)
  }

  #rulesOf(schema: JSONSchemaProps, isWhole: boolean): readonly Rule[] {
    const specs = schema['x-kubernetes-validations']
    if (specs === undefined || specs.length === 0) return []
    let rules = this.#compiled.get(schema)
    if (rules === undefined) {
      const self = celTypeOf(schema, isWhole)
      rules = specs.map((spec) => compileRule(spec, self))
      this.#compiled.set(schema, rules)
    }
    return rules
  }

  #check(
    values: { now: unknown; before: unknown },
    schema: JSONSchemaProps,
    place: Place,
  ): FieldError[] {
    const { now, before } = values
    const { path, budget } = place
    if (now === undefined || now === null || budget.left < 0) return []
    const rules = this.#rulesOf(schema, place.isWhole || isEmbedded(schema))
    const at = { schema, path, budget }
    const errors = rules.length === 0 ? [] : rulesFaults(rules, values, at)
    const into = (
      inner: { now: unknown; before: unknown },
      by: JSONSchemaProps,
      at: string,
    ): void => void errors.push(...this.#check(inner, by, { path: at, isWhole: false, budget }))
    if (Array.isArray(now)) {
      const items = itemsOf(schema)
      if (items === undefined) return errors
      const earlier = elementsBefore(before, schema)
      for (const [index, item] of now.entries()) {
        into({ now: item, before: earlier(item) }, items, `${path}[${index}]`)
      }
    } else if (isRecord(now)) {
      const additional = additionalOf(schema)
      for (const name of Object.keys(now)) {
        const property = getOwn(schema.properties, name) ?? additional
        if (property === undefined) continue
        const inner = {
          now: now[name],
          before: fieldBefore(name, before, schema),
        }
        const step = property === additional ? `[${name}]` : path === '' ? name : `.${name}`
        into(inner, property, `${path}${step}`)
      }
    }
    return errors
  }
}

function evaluated(run: () => unknown, rule: ValidationRule): { value: unknown } | { why: string } {
  try {
    return { value: run() }
  } catch (error) {
    if (!(error instanceof CelEvaluationError)) throw error
    const about = rule.message ? rule.message : rule.rule
    if (/no (?:such|matching) overload/.test(error.message)) {
      return {
        why: `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${about}`,
      }
    }
    if (error.message.includes('cost limit exceeded')) {
      return {
        why: `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${about}`,
      }
    }
    return { why: `${error.message} evaluating rule: ${about}` }
  }
}

const outOfBudget =
  'validation failed due to running out of cost budget, no further validation rules will be run'

interface RulePlace {
  readonly schema: JSONSchemaProps
  readonly path: string
  readonly budget: Budget
}

/** What the rules of one schema find in one value. */
function rulesFaults(
  rules: readonly Rule[],
  { now, before }: { now: unknown; before: unknown },
  at: RulePlace,
): FieldError[] {
  const { schema, budget } = at
  const hasPast = before !== undefined && before !== null
  const isUnchanged = isAsBefore(now, before)
  const self = celValue(now, schema)
  const past = hasPast ? celValue(before, schema) : undefined
  // One value of each, so that it is measured once.
  const plain = { self, ...(hasPast && { oldSelf: past }) }
  const optional = { self, oldSelf: celOptional(past), measured: past }
  const errors: FieldError[] = []
  for (const rule of rules) {
    const { isTransition, isOptional } = rule
    if (isTransition && !hasPast && !isOptional) continue
    if (!isTransition && isUnchanged) continue
    const fault = ruleFault(rule, isTransition && isOptional ? optional : plain, at)
    if (fault !== undefined) errors.push(fault)
    if (budget.left < 0) break
  }
  return errors
}

function ruleFault(
  { spec, program, message }: Rule,
  variables: Readonly<Record<string, unknown>>,
  at: RulePlace,
): FieldError | undefined {
  const { schema, path, budget } = at
  const field = path === '' ? '<nil>' : path
  const value = schema.type ?? ''
  let spent = program.cost(variables)
  const outcome = evaluated(
    () => program.evaluate(variables, (steps) => (spent = Math.max(spent, steps))),
    spec,
  )
  if ('why' in outcome) {
    if (outcome.why.includes('cost limit exceeded')) budget.left = -1
    return invalidValue(field, { value, detail: outcome.why })
  }
  budget.left -= spent
  if (budget.left < 0) return invalidValue(field, { value, detail: outOfBudget })
  if (outcome.value === true) return undefined
  const detail =
    (message && madeMessage(message, variables, budget)) ||
    spec.message?.trim() ||
    `failed rule: ${spec.rule.trim()}`
  const where = placeOf(spec.fieldPath, at)
  switch (spec.reason) {
    case 'FieldValueRequired':
      return requiredValue(where, detail)
    case 'FieldValueForbidden':
      return forbiddenValue(where, detail)
    case 'FieldValueDuplicate':
      return duplicateValue(where, value)
    default:
      return invalidValue(where, { value, detail })
  }
}

/** Where a rule's fault is reported: at the field that it names, below the value that it validates. */
function placeOf(fieldPath: string | undefined, { schema, path }: RulePlace): string {
  const below = fieldPath ? (fieldPathText(fieldPath, schema) ?? '') : ''
  if (path === '' || below === '') return path + below || '<nil>'
  return below.startsWith('[') ? path + below : `${path}.${below}`
}

/** Longer ones are not shown (upstream: MaxEvaluatedMessageExpressionSizeBytes). */
const mostMessageBytes = 5 * 1024

/** The message that the expression makes; '' for one that cannot be shown. */
function madeMessage(
  message: CelProgram,
  variables: Readonly<Record<string, unknown>>,
  budget: Budget,
): string {
  const cost = message.cost(variables)
  if (cost > budget.left) {
    budget.left = -1
    return 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run'
  }
  budget.left -= cost
  try {
    const made = message.evaluate({ oldSelf: null, ...variables })
    const text = typeof made === 'string' ? made.trim() : ''
    return text.includes('\n') || Buffer.byteLength(text) > mostMessageBytes ? '' : text
  } catch (error) {
    if (error instanceof CelEvaluationError) return ''
    throw error
  }
}
