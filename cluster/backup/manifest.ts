/** Manifest and summary: what the first part of a backup says of its cluster, and what the last one counts. */
import { dialectNamed, type Dialect } from '../../components/api/dialect.ts'
import { ownVersion } from '../own-version.ts'
import type { Member } from './archive.ts'
import { BackupError } from './backup-error.ts'

const format = 'skiff-backup'
/** A change that older releases would misread raises it. */
const formatVersion = 1

export const manifestName = 'manifest.json'
export const summaryName = 'summary.json'

export interface Manifest {
  /** What wrote it, for messages: the program and its version. */
  readonly writtenBy: string
  /** The name of its cluster. */
  readonly cluster: string
  /** `sha256:<hex>` of the cluster CA's public key: which cluster it is, whatever its name. */
  readonly caHash: string
  /** State directory that files of nodes name. */
  readonly stateDir: string
  readonly dialect: Dialect['name']
  /** The revision that all objects were read at. */
  readonly revision: number
  /** What time it was in the cluster, RFC 3339. */
  readonly takenAt: string
}

export interface Summary {
  /** Keys of the store by resource: `core/secrets`. */
  readonly resources: Readonly<Record<string, number>>
  readonly objects: number
  /** Files of the state directory: configuration, certificates, keys. */
  readonly files: number
}

function jsonPart(name: string, value: object): Member {
  return { name, content: Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`) }
}

export function manifestPart(manifest: Omit<Manifest, 'writtenBy'>): Member {
  const writtenBy = `skiff ${ownVersion()}`
  return jsonPart(manifestName, { format, version: formatVersion, writtenBy, ...manifest })
}

export function summaryPart(summary: Summary): Member {
  return jsonPart(summaryName, summary)
}

function parsed({ name, content }: Member): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(content.toString())
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw new BackupError(`is damaged in ${name}: it is no object`)
}

/** Throws a BackupError, also for what a newer release wrote. */
export function readManifest(part: Member): Manifest {
  const found = parsed(part)
  if (part.name !== manifestName || found['format'] !== format)
    throw new BackupError('is not a backup of skiff')
  const { version, writtenBy, cluster, caHash, stateDir, dialect, revision, takenAt } = found
  if (typeof version === 'number' && version > formatVersion) {
    throw new BackupError(
      `was written by a newer release (${String(writtenBy)}): its format is ${version}, this release knows ${formatVersion}`,
    )
  }
  const texts = [writtenBy, cluster, caHash, stateDir, takenAt]
  const known = typeof dialect === 'string' ? dialectNamed(dialect) : undefined
  const isWhole =
    version === formatVersion &&
    texts.every((text) => typeof text === 'string') &&
    known !== undefined &&
    Number.isSafeInteger(revision)
  if (!isWhole) throw new BackupError(`is damaged in ${part.name}: a field is missing or wrong`)
  return found as unknown as Manifest
}

/** Throws a BackupError. */
export function readSummary(part: Member): Summary {
  const found = parsed(part)
  const { resources, objects, files } = found
  const isWhole =
    part.name === summaryName &&
    typeof resources === 'object' &&
    resources !== null &&
    Object.values(resources).every(Number.isSafeInteger) &&
    Number.isSafeInteger(objects) &&
    Number.isSafeInteger(files)
  if (!isWhole) throw new BackupError(`is damaged in ${part.name}: it counts nothing`)
  return found as unknown as Summary
}
