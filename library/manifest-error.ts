/** ManifestError: manifests that cannot be read or applied; all of them, each with its place. */

export interface ManifestFault {
  /** `config/role.yaml:12`; `objects[0]` for an object that came as a value. */
  readonly place: string
  /** `ClusterRole reader`; undefined for a file that cannot be read. */
  readonly object: string | undefined
  readonly message: string
  /** The error behind it, such as the server's StatusError. */
  readonly cause: unknown
}

export function faultAt(place: string, message: string, cause?: unknown): ManifestFault {
  return { place, object: undefined, message, cause }
}

const mostShown = 100

export class ManifestError extends Error {
  readonly faults: readonly ManifestFault[]
  constructor(summary: string, faults: readonly ManifestFault[]) {
    const lines = faults
      .slice(0, mostShown)
      .map(
        ({ place, object, message }) =>
          `  ${place}: ${object === undefined ? '' : `${object}: `}${message}`,
      )
    const more = faults.length > mostShown ? [`  and ${faults.length - mostShown} more`] : []
    super([`${summary}:`, ...lines, ...more].join('\n'))
    this.name = 'ManifestError'
    this.faults = faults
  }
}
