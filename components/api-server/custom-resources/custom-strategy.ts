/** The strategy of custom resources (upstream: apiextensions-apiserver pkg/registry/customresource/strategy.go). */
import type {
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
  JSONSchemaProps,
} from '../../api/generated/types.ts'
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { StatusError, type FieldError } from '../../machinery/objects/status-error.ts'
import type { Strategy } from '../kinds/strategy.ts'
import { parseJsonPath, valuesAt } from '../../machinery/values/json-path.ts'
import type { SchemaRules } from './cel-rules.ts'
import { hasRules } from './schema-parts.ts'
import {
  loaded,
  loadModules,
  modulesNeededBy,
  noModules,
  type SchemaModules,
} from './schema-modules.ts'
import { embeddedFaults, listFaults, schemaFaults } from './schema-validation.ts'

/** Restores everything but the status and the field managers. */
function restoreAllButStatus(object: KubeObject, old: KubeObject): void {
  const { status } = object
  const { managedFields } = object.metadata
  for (const name of Object.keys(object)) delete object[name]
  Object.assign(object, structuredClone(old))
  if (managedFields === undefined) delete object.metadata.managedFields
  else object.metadata.managedFields = managedFields
  if (status === undefined) delete object['status']
  else object['status'] = status
}

/** Replicas that no Scale can show. */
function scaleFaults(object: KubeObject, paths: readonly string[]): FieldError[] {
  return paths.flatMap((path) => {
    const [value] = valuesAt(object, parseJsonPath(path) ?? [])
    if (typeof value !== 'number') return []
    const field = path.replace(/^\./, '')
    if (value < 0)
      return [invalidValue(field, { value, detail: 'should be a non-negative integer' })]
    const detail = 'should be less than or equal to 2147483647'
    return value > 2_147_483_647 ? [invalidValue(field, { value, detail })] : []
  })
}

/** Faults that keep rules from running: a rule could fail on what the schema promises it. */
const blocking: ReadonlySet<string> = new Set([
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])
const notAllChecked = invalidValue('<nil>', {
  value: null,
  detail:
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
})

type CustomValidation = Pick<Strategy, 'validate' | 'validateUpdate' | 'subresources'>

interface Validated {
  readonly schema: JSONSchemaProps
  readonly withRules: boolean
  readonly hasStatus: boolean
  readonly scale: CustomResourceSubresourceScale | undefined
}

/** The hooks that look at objects, with the modules that the schema needs. */
function validationWith(modules: SchemaModules, of: Validated): CustomValidation {
  const { schema, withRules, hasStatus, scale } = of
  const replicaPaths = scale ? [scale.specReplicasPath, scale.statusReplicasPath] : []
  let rules: SchemaRules | undefined
  const faults = (object: KubeObject, old?: KubeObject): FieldError[] => {
    const errors = [
      ...schemaFaults(object, schema, { modules, old }),
      ...scaleFaults(object, replicaPaths),
      ...embeddedFaults(object, schema),
      ...listFaults(object, schema),
    ]
    if (!withRules) return errors
    if (errors.some(({ type }) => blocking.has(type))) return [...errors, notAllChecked]
    rules ??= new (loaded(modules.rules).SchemaRules)(schema, { isWhole: true })
    return [...errors, ...rules.faults(object, old)]
  }
  return {
    validate: (object) => faults(object),
    validateUpdate: faults,
    subresources: {
      ...(hasStatus && {
        status: { prepareForUpdate: restoreAllButStatus, validateUpdate: faults },
      }),
      ...(scale && { scale: { validateUpdate: faults } }),
    },
  }
}

export function customStrategy(
  version: CustomResourceDefinitionVersion,
  of: { schema: JSONSchemaProps; isTerminating: () => boolean },
): Strategy {
  const { schema, isTerminating } = of
  const { status, scale } = version.subresources ?? {}
  const hasStatus = status !== undefined && status !== null
  const needed = { rules: hasRules(schema), patterns: modulesNeededBy(schema).patterns }
  const validated = { schema, withRules: needed.rules, hasStatus, scale: scale ?? undefined }
  const strategy: Strategy = {
    hasGeneration: true,
    statusCounts: !hasStatus,
    allowUnconditionalUpdate: false,
    prepareForCreate(object) {
      if (isTerminating()) {
        throw new StatusError(
          'MethodNotAllowed',
          'create not allowed while custom resource definition is terminating',
        )
      }
      if (hasStatus) delete object['status']
    },
    ...validationWith(noModules, validated),
  }
  if (!needed.rules && !needed.patterns) return strategy
  const load = async (): Promise<Strategy> => {
    const modules = await loadModules(needed)
    return { ...strategy, ...validationWith(modules, validated) }
  }
  let whole: Promise<Strategy> | undefined
  return { ...strategy, load: () => (whole ??= load()) }
}
