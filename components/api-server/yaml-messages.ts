/** What the server's thread and the one that reads YAML say to each other. */
import type { RepeatedKey } from './yaml.ts'

export interface YamlRequest {
  readonly text: Uint8Array
  /** Keys given twice are named, and are no error. */
  readonly isLenient: boolean
}

export type YamlAnswer =
  | { readonly ok: true; readonly json: Uint8Array; readonly repeatedKey: RepeatedKey | undefined }
  /** The first line of what is wrong. */
  | { readonly ok: false; readonly message: string; readonly hasTooManyValues: boolean }
