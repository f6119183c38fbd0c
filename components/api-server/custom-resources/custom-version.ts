/** CustomVersion: what one served version of a definition's kind does: how its objects are read, shown, checked and owned. */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../../api/generated/types.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import { schemaOf } from '../../api/schemas.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import { decode, type Decoded } from '../../machinery/schema/decode.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type {
  ObjectKind,
  ObjectVersion,
  Resource,
  ScalePlaces,
  Subresource,
} from '../../machinery/objects/resource.ts'
import type { StructSchema } from '../../machinery/schema/schema.ts'
import type { Strategy } from '../kinds/strategy.ts'
import { applySchemaOf } from './apply-schema.ts'
import type { ConvertRemotely } from './conversion-webhook.ts'
import { CustomConversion } from './custom-conversion.ts'
import { customPrinter } from './custom-printer.ts'
import { customStrategy } from './custom-strategy.ts'
import { fillDefaults } from './defaulting.ts'
import { pruneNulls, pruneUnknown } from './pruning.ts'

const mostUnknown = 100

export class CustomVersion implements ObjectKind {
  /** Another one for each state of a definition: frames made by one schema are not those of another. */
  readonly formName: string
  readonly workingVersion: ObjectVersion
  readonly #apiVersion: string
  readonly #storageVersion: string
  readonly #kind: string
  /** Whether the whole definition preserves unknown fields. */
  readonly keepsUnknown: boolean
  readonly isShownAsStored = false
  readonly hasProtobuf = false
  readonly mustNameKind = true
  readonly reportsInTextOrder = false
  readonly patchSchema = undefined
  /** The schema of a custom resource is not enough to list the fields of its objects. */
  readonly isOwnedBySchema = false
  readonly takesAnyFinalizer = true
  readonly fieldSelectors = { formerNames: {}, isGeneric: false }
  readonly hasWatchPaths = false
  readonly #conversion: CustomConversion
  /** What was asked for, by the stored object; kept as long as that is. */
  readonly #converted = new WeakMap<KubeObject, KubeObject>()
  readonly #underWay = new WeakMap<KubeObject, Promise<void>>()
  readonly #isTerminating: () => boolean
  readonly #version: CustomResourceDefinitionVersion
  #schema: StructSchema | undefined
  #strategy: Strategy | undefined
  #printer: TablePrinter | undefined
  /** As the definition has it. */
  readonly openApi: JSONSchemaProps
  readonly #versions: () => readonly Resource[]

  constructor(
    version: CustomResourceDefinitionVersion,
    of: {
      definition: CustomResourceDefinition
      conversion: CustomConversion
      versions: () => readonly Resource[]
      isTerminating: () => boolean
    },
  ) {
    const { metadata, spec } = of.definition
    this.#version = version
    this.#apiVersion = `${spec.group}/${version.name}`
    this.#storageVersion = `${spec.group}/${storedVersionOf(of.definition)}`
    this.workingVersion = { package: this.#apiVersion, apiVersion: this.#apiVersion }
    this.formName = `${this.#apiVersion} ${metadata.uid ?? ''} ${metadata.resourceVersion ?? ''}`
    this.#kind = spec.names.kind
    this.keepsUnknown = spec.preserveUnknownFields === true
    this.openApi = version.schema?.openAPIV3Schema ?? { type: 'object' }
    this.#versions = of.versions
    this.#conversion = of.conversion
    this.#isTerminating = of.isTerminating
  }

  get schema(): StructSchema {
    return (this.#schema ??= applySchemaOf(this.openApi, this.#apiVersion))
  }

  get strategy(): Strategy {
    return (this.#strategy ??= customStrategy(this.#version, {
      schema: this.openApi,
      isTerminating: this.#isTerminating,
    }))
  }

  printer(): TablePrinter {
    return (this.#printer ??= customPrinter(this.#version.additionalPrinterColumns))
  }

  get scale(): ScalePlaces | undefined {
    const { scale } = this.#version.subresources ?? {}
    if (!scale) return undefined
    const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale
    return {
      replicas: fieldsOf(specReplicasPath),
      statusReplicas: fieldsOf(statusReplicasPath),
      selector: labelSelectorPath ? fieldsOf(labelSelectorPath) : undefined,
    }
  }

  get deprecationWarning(): string | undefined {
    const { deprecated, deprecationWarning } = this.#version
    if (deprecated !== true) return undefined
    return deprecationWarning ?? `${this.#apiVersion} ${this.#kind} is deprecated`
  }

  decode(value: unknown, { report }: { report: boolean }): Decoded<KubeObject> {
    const { kind, apiVersion, metadata, ...rest } = (isRecord(value) ? value : {}) as KubeObject
    const { object, problems } = decode(
      { kind, apiVersion, metadata },
      schemaOf('meta/v1.PartialObjectMetadata'),
      {
        mode: report ? 'report' : 'ignore',
      },
    )
    const draft = { ...object, ...copyJson(rest) }
    const unknown: string[] = []
    const note = report ? (path: string) => void unknown.push(path) : undefined
    if (!this.keepsUnknown) {
      pruneUnknown(draft, this.openApi, note)
      pruneNulls(draft, this.openApi)
    }
    fillDefaults(draft, this.openApi)
    unknown.sort()
    return {
      object: draft,
      problems: {
        fatal: problems.fatal,
        unconverted: problems.unconverted,
        unknown: [...problems.unknown, ...unknown].slice(0, mostUnknown),
      },
    }
  }

  /** As upstream makes it: nothing is there before it is set, defaults included. */
  empty(): KubeObject {
    return { kind: this.#kind, apiVersion: this.#apiVersion, metadata: {} }
  }

  versions(): readonly Resource[] {
    return this.#versions()
  }

  get isConverted(): boolean {
    return this.#conversion.isRemote
  }

  prepare(objects: readonly KubeObject[]): Promise<void> | undefined {
    if (!this.isConverted) return undefined
    const waits = new Set<Promise<void>>()
    const missing: KubeObject[] = []
    for (const object of objects) {
      if (object.apiVersion === this.#apiVersion || this.#converted.has(object)) continue
      const wait = this.#underWay.get(object)
      if (wait === undefined) missing.push(object)
      else waits.add(wait)
    }
    if (missing.length > 0) waits.add(this.#convert(missing))
    return waits.size === 0 ? undefined : Promise.all(waits).then(() => undefined)
  }

  async #convert(stored: readonly KubeObject[]): Promise<void> {
    const reading = this.#conversion.converted(
      stored.map((object) => this.#conversion.read(object)),
      this.#apiVersion,
    )
    const done = reading.then((converted) => {
      for (const [index, object] of stored.entries()) {
        const found = converted[index]
        if (found !== undefined) this.#converted.set(object, found)
      }
    })
    for (const object of stored) this.#underWay.set(object, done)
    try {
      await done
    } finally {
      for (const object of stored) this.#underWay.delete(object)
    }
  }

  /** As upstream reads what is stored: by the schema of today. */
  fromStored(object: KubeObject): KubeObject {
    if (!this.isConverted || object.apiVersion === this.#apiVersion) {
      return this.#conversion.readAs(object, this.#apiVersion)
    }
    const found = this.#converted.get(object)
    if (found === undefined) throw new Error(`an object was not prepared for ${this.#apiVersion}`)
    return found
  }

  working(stored: KubeObject): KubeObject {
    return this.fromStored(stored)
  }

  toWorking(object: KubeObject): KubeObject {
    return object
  }

  fromWorking(object: KubeObject): KubeObject {
    return object
  }

  toStored(object: KubeObject): KubeObject | Promise<KubeObject> {
    return this.#inVersion(object, this.#storageVersion)
  }

  convert(
    object: KubeObject,
    from: ObjectVersion,
    to: ObjectVersion,
  ): KubeObject | Promise<KubeObject> {
    if (from.apiVersion === to.apiVersion) return object
    // As upstream: an object without fields has none in other versions, so no service is asked.
    if (this.isConverted && hasNoFields(object)) return { ...object, apiVersion: to.apiVersion }
    const isTyped = object.kind === this.#kind && object.apiVersion === from.apiVersion
    const typed = isTyped ? object : { ...object, kind: this.#kind, apiVersion: from.apiVersion }
    return this.#inVersion(typed, to.apiVersion)
  }

  #inVersion(object: KubeObject, apiVersion: string): KubeObject | Promise<KubeObject> {
    if (apiVersion === object.apiVersion) return object
    if (!this.isConverted) return this.#conversion.renamed(object, apiVersion)
    return this.#conversion
      .converted([object], apiVersion)
      .then(([found = object]) => structuredClone(found))
  }
}

function hasNoFields(object: KubeObject): boolean {
  return Object.keys(object).every((name) => name === 'kind' || name === 'apiVersion')
}

/** `.spec.replicas` -> its fields. */
function fieldsOf(path: string): string[] {
  return path.split('.').slice(1)
}

/** What the api server knows of a resource's version; undefined for built-in kinds. */
export function customVersionOf(resource: Resource): CustomVersion | undefined {
  return resource.custom instanceof CustomVersion ? resource.custom : undefined
}

export function storedVersionOf({ spec }: CustomResourceDefinition): string {
  return spec.versions?.find(({ storage }) => storage)?.name ?? ''
}

/** In upstream's order, which discovery shows. */
const verbs: Resource['verbs'] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
]
const subresourceVerbs: Subresource['verbs'] = ['get', 'patch', 'update']

function subresourcesOf(version: CustomResourceDefinitionVersion, kind: string): Subresource[] {
  const { status, scale } = version.subresources ?? {}
  const found: Subresource[] = []
  if (status) found.push({ name: 'status', verbs: subresourceVerbs, kind })
  if (scale) {
    const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }
    found.push({ name: 'scale', verbs: subresourceVerbs, ...scaleKind })
  }
  return found
}

/**
 * The resources of a definition's served versions, under the names that were accepted. Nothing new is made of a kind that is
 * being terminated.
 */
export function resourcesOfDefinition(
  definition: CustomResourceDefinition,
  of: { remote: ConvertRemotely | undefined; isTerminating: () => boolean },
): readonly Resource[] {
  const { spec, status } = definition
  const { group } = spec
  const stored = storedVersionOf(definition)
  const names = status?.acceptedNames ?? spec.names
  const resources: Resource[] = []
  const conversion = new CustomConversion(definition, of.remote)
  const { isTerminating } = of
  for (const version of spec.versions ?? []) {
    if (!version.served) continue
    const { kind } = names
    resources.push({
      group,
      package: `${group}/${version.name}`,
      version: version.name,
      plural: names.plural,
      singular: names.singular ?? '',
      kind,
      listKind: names.listKind ?? `${kind}List`,
      namespaced: spec.scope === 'Namespaced',
      verbs,
      shortNames: names.shortNames ?? [],
      categories: names.categories ?? [],
      subresources: subresourcesOf(version, kind),
      selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) =>
        jsonPath.replace(/^\./, ''),
      ),
      createOnUpdate: false,
      virtual: false,
      storagePrefix: `${group}/${names.plural}`,
      storageVersion: { package: `${group}/${stored}`, apiVersion: `${group}/${stored}` },
      lifecycle: { introduced: '1.0' },
      servedByDefault: true,
      custom: new CustomVersion(version, {
        definition,
        conversion,
        versions: () => resources,
        isTerminating,
      }),
    })
  }
  return resources
}
