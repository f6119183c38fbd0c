/**
 * CustomConversion: the objects of one definition between its versions: by their service, or else by naming the other version;
 * always pruned by the schema of the version they end in (upstream: apiextensions-apiserver customresource_handler.go, schemaCoercer).
 */
import type { CustomResourceDefinition, JSONSchemaProps } from '../../api/generated/types.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { deepFreeze, type KubeObject } from '../../machinery/objects/object.ts'
import { ConversionFault, type ConvertRemotely } from './conversion-webhook.ts'
import { fillDefaults } from './defaulting.ts'
import { pruneNulls, pruneUnknown } from './pruning.ts'

export class CustomConversion {
  readonly #schemas: ReadonlyMap<string, JSONSchemaProps>
  readonly #keepsUnknown: boolean
  readonly #remote: ConvertRemotely | undefined

  /** Without `remote`, versions differ in their names alone. */
  constructor(definition: CustomResourceDefinition, remote: ConvertRemotely | undefined) {
    const { spec } = definition
    this.#schemas = new Map(
      (spec.versions ?? []).map(({ name, schema }) => [
        `${spec.group}/${name}`,
        schema?.openAPIV3Schema ?? { type: 'object' },
      ]),
    )
    this.#keepsUnknown = spec.preserveUnknownFields === true
    this.#remote = remote
  }

  /** Whether a service converts. */
  get isRemote(): boolean {
    return this.#remote !== undefined
  }

  #prune(object: KubeObject): void {
    const schema = this.#schemas.get(object.apiVersion ?? '')
    if (schema === undefined || this.#keepsUnknown) return
    pruneUnknown(object, schema)
    pruneNulls(object, schema)
  }

  /** A copy of what is stored, in the version it is stored in, as today's schema of that version reads it. */
  read(stored: KubeObject): KubeObject {
    const { kind, apiVersion, metadata, ...rest } = stored
    const draft = { kind, apiVersion, metadata, ...copyJson(rest) } as KubeObject
    this.#prune(draft)
    fillDefaults(draft, this.#schemas.get(apiVersion ?? ''))
    return draft
  }

  /** The same in another version, without a service. */
  readAs(stored: KubeObject, apiVersion: string): KubeObject {
    const draft = this.read(stored)
    if (draft.apiVersion === apiVersion) return draft
    draft.apiVersion = apiVersion
    this.#prune(draft)
    return draft
  }

  /** The object in another version, without a service. The input is not changed. */
  renamed(object: KubeObject, apiVersion: string): KubeObject {
    if (object.apiVersion === apiVersion) return object
    const { kind, apiVersion: _, metadata, ...rest } = object
    const draft = { kind, apiVersion, metadata, ...copyJson(rest) } as KubeObject
    this.#prune(draft)
    return draft
  }

  /** The objects in that version, in their order and frozen, where a service converts. Rejects with a ConversionFault. */
  async converted(objects: readonly KubeObject[], apiVersion: string): Promise<KubeObject[]> {
    for (const version of [apiVersion, ...objects.map((one) => one.apiVersion ?? '')]) {
      if (this.#schemas.has(version)) continue
      const way = version === apiVersion ? 'to' : 'from'
      throw new ConversionFault(`request to convert CR ${way} an invalid group/version: ${version}`)
    }
    const asked = objects.filter((object) => object.apiVersion !== apiVersion)
    const answered = asked.length === 0 ? [] : await this.#remote?.(asked, apiVersion)
    const made = (answered ?? []).values()
    return objects.map((object) => {
      const found = object.apiVersion === apiVersion ? object : made.next().value
      if (found === undefined) throw new Error('nothing converts')
      if (found === object) return object
      this.#prune(found)
      return deepFreeze(found)
    })
  }
}
