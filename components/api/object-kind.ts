/** The ObjectKind of any resource, and that of built-in kinds, made from the tables. */
import { decode, type Decoded } from '../machinery/schema/decode.ts'
import { remembered } from '../machinery/values/remembered.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import {
  apiVersionOf,
  type FieldSelectorRules,
  type ObjectKind,
  type ObjectVersion,
  type Resource,
} from '../machinery/objects/resource.ts'
import type { TablePrinter } from '../machinery/objects/table-printer.ts'
import type { StructSchema } from '../machinery/schema/schema.ts'
import { convertTo } from './conversions/conversions.ts'
import { printerOf } from './printers.ts'
import { schemaOf } from './schemas.ts'

class BuiltInKind implements ObjectKind {
  readonly formName: string
  readonly scale = undefined
  readonly workingVersion: ObjectVersion
  readonly isConverted = false
  readonly isShownAsStored = true
  readonly hasProtobuf = true
  readonly mustNameKind = false
  readonly reportsInTextOrder = true
  readonly patchSchema: string
  readonly isOwnedBySchema = true
  readonly takesAnyFinalizer: boolean
  readonly fieldSelectors: FieldSelectorRules
  readonly hasWatchPaths = true
  /** Deprecated versions of built-in kinds are in the table of lifecycles. */
  readonly deprecationWarning = undefined
  readonly #resource: Resource
  readonly #version: ObjectVersion
  #schema: StructSchema | undefined

  constructor(resource: Resource) {
    this.#resource = resource
    this.#version = versionOf(resource)
    this.workingVersion = resource.storageVersion
    this.formName = resource.package
    this.patchSchema = `${resource.package}.${resource.kind}`
    this.takesAnyFinalizer = /^api(?:extensions|registration)\//.test(resource.package)
    this.fieldSelectors = {
      formerNames: resource.kind === 'Pod' ? { 'spec.host': 'spec.nodeName' } : {},
      isGeneric: resource.selectableFields.length === 0,
    }
  }

  get schema(): StructSchema {
    return (this.#schema ??= schemaOf(this.patchSchema))
  }

  printer(subresource?: string): TablePrinter {
    return printerOf(this.#resource, subresource)
  }

  decode(
    value: unknown,
    { report, mayReuse = false }: { report: boolean; mayReuse?: boolean },
  ): Decoded<KubeObject> {
    return decode(value, this.schema, { mode: report ? 'report' : 'ignore', mayReuse })
  }

  empty(): KubeObject {
    return this.decode({}, { report: false }).object
  }

  versions(served: readonly Resource[]): readonly Resource[] {
    return served.filter((one) => one.storagePrefix === this.#resource.storagePrefix)
  }

  prepare(): undefined {
    return undefined
  }

  fromStored(object: KubeObject): KubeObject {
    return this.convert(object, this.workingVersion, this.#version)
  }

  working(stored: KubeObject): KubeObject {
    return stored
  }

  toWorking(object: KubeObject): KubeObject {
    return this.convert(object, this.#version, this.workingVersion)
  }

  fromWorking(object: KubeObject): KubeObject {
    return this.convert(object, this.workingVersion, this.#version)
  }

  toStored(object: KubeObject): KubeObject {
    return object
  }

  convert(object: KubeObject, from: ObjectVersion, to: ObjectVersion): KubeObject {
    if (from.package === to.package) return object
    const { kind } = this.#resource
    const typed = object.kind === kind ? object : { ...object, kind }
    return convertTo(typed, from.package, { package: to.package, kind, apiVersion: to.apiVersion })
  }
}

const builtInKind = remembered((resource: Resource): ObjectKind => new BuiltInKind(resource))

/** The names of the resource's version. */
export function versionOf(resource: Resource): ObjectVersion {
  return { package: resource.package, apiVersion: apiVersionOf(resource) }
}

/** What the resource's version of its kind does with objects; the same value each time. */
export function objectKindOf(resource: Resource): ObjectKind {
  return resource.custom ?? builtInKind(resource)
}
