/** Files of manifests: those that a user names, and those in folders that a user names. */
import { isUtf8 } from 'node:buffer'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import type { Dirent } from 'node:fs'
import { messageOf } from '../components/component-base/log.ts'
import { isKustomization, resourcesOf } from './kustomization.ts'
import { faultAt } from './manifest-error.ts'
import type { ManifestFault } from './manifest-error.ts'

export interface ManifestFile {
  /** As the user named it, or below the folder that the user named. */
  readonly path: string
  readonly text: string
}

/** Whoever names a home folder by mistake waits for an error, not for its end. */
const mostFiles = 10_000
const deepestFolder = 32
const mostBytes = 32 * 1024 * 1024

/** As kubectl's. */
const extensions = ['.yaml', '.yml', '.json']

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  ELOOP: 'its symbolic links form a loop',
}

interface Found {
  readonly files: string[]
  readonly faults: ManifestFault[]
}

interface Search {
  readonly found: Found
  /** Of folders and kustomizations. */
  readonly depth: number
}

/**
 * The files in the order of `paths`, those of a folder sorted, folders in it included; and what keeps others from being read. Of a folder
 * with a kustomization, what that lists.
 */
export async function readManifestFiles(paths: readonly string[]): Promise<{
  readonly files: readonly ManifestFile[]
  readonly faults: readonly ManifestFault[]
}> {
  const found: Found = { files: [], faults: [] }
  for (const path of paths) await findIn(path, { found, depth: 0 })
  const files: ManifestFile[] = []
  for (const path of found.files.slice(0, mostFiles)) {
    try {
      files.push({ path, text: await textOf(path) })
    } catch (error) {
      found.faults.push(faultAt(path, reasonOf(error), error))
    }
  }
  return { files, faults: found.faults }
}

function reasonOf(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException
  return unreadable[code] ?? messageOf(error)
}

async function findIn(path: string, { found, depth }: Search): Promise<void> {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) {
    found.faults.push(faultAt(path, 'manifests are files and folders: download it first'))
    return
  }
  try {
    const status = await stat(path)
    if (!status.isDirectory()) {
      await addFile(path, { found, depth })
      return
    }
    const before = found.files.length + found.faults.length
    await addFolder(path, { found, depth })
    if (found.files.length + found.faults.length === before)
      found.faults.push(faultAt(path, `the folder has no ${extensions.join(', ')} file`))
    if (found.files.length > mostFiles)
      found.faults.push(
        faultAt(path, `has more than ${mostFiles} manifests: name a smaller folder`),
      )
  } catch (error) {
    found.faults.push(faultAt(path, reasonOf(error), error))
  }
}

async function addFile(path: string, { found, depth }: Search): Promise<void> {
  if (isKustomization(basename(path))) await addResources(path, { found, depth })
  else found.files.push(path)
}

async function addResources(path: string, { found, depth }: Search): Promise<void> {
  try {
    // A loop of kustomizations ends as folders that are nested too deep do.
    if (depth > deepestFolder) throw new Error(`is nested more than ${deepestFolder} folders deep`)
    for (const resource of resourcesOf(await textOf(path))) {
      const isRemote = /^[a-z][a-z0-9+.-]+:\/\/|^github\.com\//i.test(resource)
      const place = isRemote ? resource : join(dirname(path), resource)
      await findIn(place, { found, depth: depth + 1 })
    }
  } catch (error) {
    found.faults.push(faultAt(path, reasonOf(error), error))
  }
}

/** Links to files are followed, links to folders are not, as kubectl does. */
async function addFolder(folder: string, { found, depth }: Search): Promise<void> {
  if (depth > deepestFolder) {
    found.faults.push(faultAt(folder, `is nested more than ${deepestFolder} folders deep`))
    return
  }
  const entries = await readdir(folder, { withFileTypes: true })
  const kustomization = entries.find(({ name }) => isKustomization(name))
  if (kustomization !== undefined) {
    await addResources(join(folder, kustomization.name), { found, depth })
    return
  }
  for (const entry of entries.toSorted(byName)) {
    if (found.files.length > mostFiles) return
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await addFolder(path, { found, depth: depth + 1 })
    else if (isManifest(entry)) found.files.push(path)
  }
}

/** By code points, whatever the language of the machine is. */
function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1
}

function isManifest(entry: Dirent): boolean {
  return extensions.includes(extname(entry.name)) && (entry.isFile() || entry.isSymbolicLink())
}

async function textOf(path: string): Promise<string> {
  const status = await stat(path)
  if (!status.isFile()) throw new Error('is not a file')
  if (status.size > mostBytes)
    throw new Error(`has ${status.size} bytes; ${mostBytes} are read at most`)
  const bytes = await readFile(path)
  if (!isUtf8(bytes)) throw new Error('is not UTF-8 text')
  return bytes.toString()
}
