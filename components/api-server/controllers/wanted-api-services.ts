/** WantedApiServices: the APIServices of the group versions that CustomResourceDefinitions serve. */
import { customPriorities, localApiService } from '../../api/bootstrap-policy/api-services.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { CustomResourceDefinition } from '../../api/generated/types.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'

/** Several definitions of one group want the same APIService; it stays wanted until the last of them goes. */
export class WantedApiServices {
  readonly #dialect: Dialect
  /** Groups whose APIServices the server makes at its start. */
  readonly #builtIn: ReadonlySet<string>
  /** The names of the APIServices that a definition wants, by the definition's name. */
  readonly #namesBy = new Map<string, readonly string[]>()
  readonly #wanted = new Map<string, { readonly object: KubeObject; definitions: number }>()

  constructor(dialect: Dialect, builtIn: ReadonlySet<string>) {
    this.#dialect = dialect
    this.#builtIn = builtIn
  }

  /** The APIService of that name that should exist; frozen. */
  get(name: string): KubeObject | undefined {
    return this.#wanted.get(name)?.object
  }

  /** Takes the newest state of a definition. Returns the names of the APIServices that may be wrong now. */
  take({ metadata, spec }: CustomResourceDefinition): readonly string[] {
    const before = this.release(metadata.name ?? '')
    const { group } = spec
    if (this.#builtIn.has(group)) return before
    const names = spec.versions
      .filter((version) => version.served)
      .map(({ name: version }) => {
        const wanted = { group, version, ...customPriorities }
        const object = localApiService(this.#dialect, 'true', wanted)
        const name = object.metadata.name ?? ''
        const definitions = (this.#wanted.get(name)?.definitions ?? 0) + 1
        this.#wanted.set(name, { object, definitions })
        return name
      })
    this.#namesBy.set(metadata.name ?? '', names)
    return [...before, ...names]
  }

  /** Forgets a definition. Returns the names of the APIServices that may be wrong now. */
  release(definition: string): readonly string[] {
    const names = this.#namesBy.get(definition) ?? []
    for (const name of names) {
      const one = this.#wanted.get(name)
      if (one !== undefined && (one.definitions -= 1) === 0) this.#wanted.delete(name)
    }
    this.#namesBy.delete(definition)
    return names
  }
}
