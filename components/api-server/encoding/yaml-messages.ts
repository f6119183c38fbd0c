/** What the server's thread and the one for YAML say to each other. */
import type { RepeatedKey } from '../../machinery/values/yaml.ts'

export type YamlRequest =
  | {
      readonly what: 'read'
      readonly yaml: Uint8Array
      /** Keys given twice are named, and are no error. */
      readonly isLenient: boolean
    }
  | { readonly what: 'write'; readonly json: Uint8Array }

export type YamlAnswer =
  /** JSON that was read, or YAML that was written. */
  | { readonly ok: true; readonly text: Uint8Array; readonly repeatedKey: RepeatedKey | undefined }
  /** The first line of what is wrong. */
  | { readonly ok: false; readonly message: string; readonly hasTooManyValues: boolean }
