/** CustomResourceDefinition (upstream: apiextensions-apiserver pkg/apis/apiextensions/validation). */
import type { Dialect } from '../../api/dialect.ts'
import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../../api/generated/types.ts'
import type { FieldPath } from '../../machinery/validation/field-path.ts'
import { goList } from '../../machinery/values/go-syntax.ts'
import { label1035, subdomain } from '../../machinery/validation/names.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { approvalKey, approvalOf } from './api-approval.ts'
import { areDefaultsPruned } from './default-faults.ts'
import { loadModules, modulesNeededBy, noModules, type SchemaModules } from './schema-modules.ts'
import { beginTermination } from './termination.ts'
import type { Strategy } from '../kinds/strategy.ts'
import {
  validateColumn,
  validateSelectableFields,
  validateSubresources,
} from './custom-resource-parts.ts'
import { validateCustomSchema } from './custom-resource-schema.ts'
import {
  goJson,
  semanticEqual,
  validateImmutable,
  validateRequiredOneOf,
} from '../kinds/rules/field-rules.ts'
import { restoreAllButStatus } from '../kinds/rules/status-update.ts'
import { createValidation, updateValidation, type Change } from '../kinds/rules/strategy-checks.ts'
import { validateWebhookClient } from '../kinds/rules/webhook-client.ts'

const scopes = ['Cluster', 'Namespaced']
const strategies = ['None', 'Webhook']
const reviewVersions = ['v1', 'v1beta1']
const maxWarningCharacters = 256

function applyDefaults(object: KubeObject): void {
  const { spec } = object as CustomResourceDefinition
  if (!spec?.names) return
  const { names } = spec
  names.singular ||= (names.kind ?? '').toLowerCase()
  if (names.kind) names.listKind ||= `${names.kind}List`
  spec.conversion ??= { strategy: 'None' }
  const service = spec.conversion.webhook?.clientConfig?.service
  if (service) service.port ??= 443
}

/** Notes the storage version among those that objects may be stored in. */
function noteStorageVersion(object: KubeObject): void {
  const { spec, status = {} } = object as CustomResourceDefinition
  const stored = status.storedVersions ?? []
  const missing = (spec.versions ?? [])
    .filter(({ name, storage }) => storage && !stored.includes(name))
    .map(({ name }) => name)
  if (missing.length > 0) object['status'] = { ...status, storedVersions: [...stored, ...missing] }
}

function validateLabel(name: string | undefined, at: FieldPath, isMixedCase = false): void {
  if (!name) return
  const faults = label1035(isMixedCase ? name.toLowerCase() : name)
  if (faults.length === 0) return
  const prefix = isMixedCase ? 'may have mixed case, but should otherwise match: ' : ''
  at.invalid(name, prefix + faults.join(','))
}

function validateNames(names: Partial<CustomResourceDefinitionNames>, at: FieldPath): void {
  validateLabel(names.plural, at.child('plural'))
  validateLabel(names.singular, at.child('singular'))
  validateLabel(names.kind, at.child('kind'), true)
  validateLabel(names.listKind, at.child('listKind'), true)
  validateEachLabel(names.shortNames ?? [], at.child('shortNames'))
  if (names.kind && names.kind === names.listKind) {
    at.child('listKind').invalid(names.listKind, 'kind and listKind may not be the same')
  }
  validateEachLabel(names.categories ?? [], at.child('categories'))
}

function validateEachLabel(names: readonly string[], at: FieldPath): void {
  for (const [i, name] of names.entries()) {
    const faults = label1035(name)
    if (faults.length > 0) at.index(i).invalid(name, faults.join(','))
  }
}

function validateDeprecation(version: CustomResourceDefinitionVersion, at: FieldPath): void {
  const { deprecated, deprecationWarning: warning } = version
  if (warning === undefined) return
  if (!deprecated) {
    at.invalid(warning, 'can only be set for deprecated versions')
    return
  }
  if (warning.length > maxWarningCharacters) at.invalid(warning, 'must be <= 256 characters long')
  if (warning === '') at.invalid(warning, 'must not be an empty string')
  const bad = Array.from(warning).findIndex((rune) => !/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(rune))
  if (bad >= 0) {
    at.invalid(
      warning,
      `must only contain printable UTF-8 characters; non-printable character found at index ${bad}`,
    )
  }
}

type Shared = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields'

/**
 * Where faults of a part are reported. Parts that all versions have alike are hoisted to the spec before they are
 * looked at, and are looked at once.
 */
function isHoisted(versions: readonly CustomResourceDefinitionVersion[], part: Shared): boolean {
  const first = versions[0]?.[part]
  if (!first) return false
  return versions.every((version) => version[part] && semanticEqual(version[part], first))
}

/** What a schema is validated with. */
interface Given {
  readonly modules: SchemaModules
  /** Of an update. */
  readonly old: CustomResourceDefinitionSpec | undefined
  /** Defaults may have no fields that their schemas do not know. */
  readonly mustBePruned: boolean
}

function validateParts(
  version: CustomResourceDefinitionVersion,
  at: FieldPath,
  of: { parts: readonly Shared[]; schemaField: string } & Given,
): void {
  const { parts, schemaField, mustBePruned, old, modules } = of
  const { schema, subresources, additionalPrinterColumns } = version
  if (parts.includes('schema') && schema) {
    const hasStatus = Boolean(subresources?.status)
    const before = old?.versions?.find(({ name }) => name === version.name)?.schema
    const isAsStored = before !== undefined && semanticEqual(before, schema)
    const by = { hasStatus, mustBePruned, isAsStored, modules }
    validateCustomSchema(schema, at.child(schemaField), by)
  }
  if (parts.includes('subresources') && subresources) {
    validateSubresources(subresources, at.child('subresources'))
  }
  if (parts.includes('selectableFields')) {
    const { openAPIV3Schema: whole = {} } = schema ?? {}
    validateSelectableFields(version.selectableFields ?? [], whole, at.child('selectableFields'))
  }
  if (!parts.includes('additionalPrinterColumns')) return
  for (const [i, column] of (additionalPrinterColumns ?? []).entries()) {
    validateColumn(column, at.child('additionalPrinterColumns').index(i))
  }
}

/** Whether the defaults of all versions have no fields but those that their schemas know. */
function areAllPruned({ versions }: CustomResourceDefinitionSpec): boolean {
  return (versions ?? []).every((one) => areDefaultsPruned(one.schema?.openAPIV3Schema ?? {}))
}

function validateVersions(spec: CustomResourceDefinitionSpec, at: FieldPath, given: Given): void {
  const versions = spec.versions ?? []
  const versionsAt = at.child('versions')
  const shared: readonly Shared[] = [
    'schema',
    'subresources',
    'additionalPrinterColumns',
    'selectableFields',
  ]
  const hoisted = shared.filter((part) => isHoisted(versions, part))
  const own = shared.filter((part) => !hoisted.includes(part))
  for (const [i, { schema }] of versions.entries()) {
    const schemaAt = versionsAt.index(i).child('schema').child('openAPIV3Schema')
    if (!schema?.openAPIV3Schema) schemaAt.required('schemas are required')
  }
  for (const [i, version] of versions.entries()) {
    const versionAt = versionsAt.index(i)
    const faults = label1035(version.name)
    if (faults.length > 0) versionAt.child('name').invalid(version.name, faults.join(','))
    validateDeprecation(version, versionAt.child('deprecationWarning'))
    validateParts(version, versionAt, { parts: own, schemaField: 'schema', ...given })
  }
  const names = versions.map(({ name }) => name)
  if (new Set(names).size < names.length) {
    versionsAt.invalid(goJson(versions), 'must contain unique version names')
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    versionsAt.invalid(goJson(versions), 'must have exactly one version marked as storage version')
  }
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const) {
    if (!spec.names?.[field]) at.child('names').child(field).required()
  }
  validateNames(spec.names ?? {}, at.child('names'))
  const [first] = versions
  if (first) validateParts(first, at, { parts: hoisted, schemaField: 'validation', ...given })
}

function validateConversion(conversion: CustomResourceConversion, at: FieldPath): void {
  validateRequiredOneOf(conversion.strategy, strategies, at.child('strategy'))
  const { webhook } = conversion
  const clientAt = at.child('webhookClientConfig')
  const versionsAt = at.child('conversionReviewVersions')
  const versions = webhook?.conversionReviewVersions ?? []
  if (conversion.strategy !== 'Webhook') {
    const why = 'should not be set when strategy is not set to Webhook'
    if (webhook?.clientConfig) clientAt.forbidden(why)
    if (versions.length > 0) versionsAt.forbidden(why)
    return
  }
  if (!webhook?.clientConfig) clientAt.required('required when strategy is set to Webhook')
  else validateWebhookClient(webhook.clientConfig, clientAt)
  if (versions.length === 0) {
    versionsAt.required()
    return
  }
  for (const [i, version] of versions.entries()) {
    if (versions.indexOf(version) < i) versionsAt.index(i).invalid(version, 'duplicate version')
    else versionsAt.index(i).invalidEach(version, label1035(version))
  }
  if (!versions.some((version) => reviewVersions.includes(version))) {
    const why = `must include at least one of ${reviewVersions.join(', ')}`
    versionsAt.invalid(goList(versions), why)
  }
}

function validateSpec(
  spec: CustomResourceDefinitionSpec,
  at: FieldPath,
  { old, modules }: Pick<Given, 'old' | 'modules'>,
): void {
  const { group = '', scope, conversion } = spec
  const groupAt = at.child('group')
  const groupFaults = subdomain(group)
  if (group === '') groupAt.required()
  else if (groupFaults.length > 0) groupAt.invalid(group, groupFaults.join(','))
  else if (!group.includes('.')) groupAt.invalid(group, 'should be a domain with at least one dot')
  validateRequiredOneOf(scope, scopes, at.child('scope'))
  validateVersions(spec, at, { modules, old, mustBePruned: old === undefined || areAllPruned(old) })
  if (conversion) validateConversion(conversion, at.child('conversion'))
}

function validateStoredVersions(object: CustomResourceDefinition, at: FieldPath): void {
  const stored = object.status?.storedVersions ?? []
  const versions = object.spec.versions ?? []
  if (stored.length === 0) {
    at.invalid(goList(stored), 'must have at least one stored version')
    return
  }
  for (const { name, storage } of versions) {
    if (storage && !stored.includes(name)) {
      at.invalid(goList(stored), `must have the storage version ${name}`)
    }
  }
  for (const [i, name] of stored.entries()) {
    if (versions.some((version) => version.name === name)) continue
    at.index(i).invalid(
      name,
      `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
    )
  }
}

function validateApproval(
  object: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  { root, dialect }: { root: FieldPath; dialect: Dialect },
): void {
  const approval = approvalOf(object, dialect)
  if (approval === undefined) return
  const { state, why } = approval
  if (old && approvalOf(old, dialect)?.state === state) return
  const key = approvalKey(dialect)
  const at = root.child('metadata').child('annotations').key(key)
  if (state === 'missing') at.required(why)
  else if (state === 'invalid') at.invalid(object.metadata.annotations?.[key] ?? '', why)
}

interface States {
  readonly object: CustomResourceDefinition
  readonly old: CustomResourceDefinition | undefined
}

function validateState(
  { object, old }: States,
  root: FieldPath,
  { dialect, modules }: { dialect: Dialect; modules: SchemaModules },
): void {
  const { spec, status } = object
  const at = root.child('spec')
  validateSpec(spec, at, { modules, old: old?.spec })
  if (old) validateFixed(spec, old, at)
  validateNames(status?.acceptedNames ?? {}, root.child('status').child('acceptedNames'))
  validateStoredVersions(object, root.child('status').child('storedVersions'))
  validateApproval(object, old, { root, dialect })
  if (spec.preserveUnknownFields === true && old?.spec.preserveUnknownFields !== true) {
    at.child('preserveUnknownFields').invalid(
      true,
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    )
  }
}

/** The resource's name always stays; its scope and kind once it is served. */
function validateFixed(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinition,
  at: FieldPath,
): void {
  const isEstablished = old.status?.conditions?.some(
    ({ type, status }) => type === 'Established' && status === 'True',
  )
  const [names, oldNames] = [spec.names, old.spec.names]
  if (isEstablished) {
    validateImmutable({ now: spec.scope, before: old.spec.scope }, at.child('scope'))
    const kindAt = at.child('names').child('kind')
    validateImmutable({ now: names.kind, before: oldNames.kind }, kindAt)
  }
  validateImmutable({ now: spec.group, before: old.spec.group }, at.child('group'))
  const pluralAt = at.child('names').child('plural')
  validateImmutable({ now: names.plural, before: oldNames.plural }, pluralAt)
}

/** `modules` are those that the definition's schemas need. */
function validationWith(modules: SchemaModules): Pick<Strategy, 'validate' | 'validateUpdate'> {
  return {
    validate: createValidation((object: CustomResourceDefinition, root, { dialect }) => {
      const { metadata, spec } = object
      const { name = '' } = metadata
      if (name !== `${spec.names?.plural}.${spec.group}`) {
        const at = root.child('metadata').child('name')
        at.invalid(name, 'must be spec.names.plural+"."+spec.group')
      }
      validateState({ object, old: undefined }, root, { dialect, modules })
    }),
    validateUpdate: updateValidation<CustomResourceDefinition>((change, root, { dialect }) => {
      validateState(change, root, { dialect, modules })
    }),
  }
}

export const customResourceDefinitionStrategy: Strategy = {
  hasGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults,
  load(object) {
    const needed = modulesNeededBy(object['spec'])
    if (!needed.rules && !needed.patterns) return undefined
    return loadModules(needed).then((modules) => ({
      ...customResourceDefinitionStrategy,
      ...validationWith(modules),
    }))
  },
  prepareForCreate(object) {
    object['status'] = {
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: null,
    }
    noteStorageVersion(object)
  },
  prepareForUpdate: noteStorageVersion,
  prepareForDelete: beginTermination,
  ...validationWith(noModules),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation(({ object }: Change<CustomResourceDefinition>, root) => {
        const at = root.child('status').child('acceptedNames')
        validateNames(object.status?.acceptedNames ?? {}, at)
      }),
    },
  },
}
