/** CheckpointArchive: the tar file of a simulated checkpoint. It holds the container's configuration and no memory pages. */
import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Pod } from '../../api/generated/types.ts'
import { timestamp } from '../../component-base/clock.ts'
import { replaceFile } from '../../component-base/replace-file.ts'
import type { RuntimeContainer } from './container-runtime.ts'

/**
 * `checkpoint-<pod>_<namespace>-<container>-<time>.tar` in the folder `checkpoints` of the agent's root folder. Names of Windows hold no
 * colons: there the time has dashes.
 */
export function checkpointPath(
  rootDir: string,
  target: { namespace: string; pod: string; container: string; nowMs: number },
  platform: NodeJS.Platform = process.platform,
): string {
  const { namespace, pod, container, nowMs } = target
  const time = platform === 'win32' ? timestamp(nowMs).replaceAll(':', '-') : timestamp(nowMs)
  const name = `checkpoint-${pod}_${namespace}-${container}-${time}.tar`
  return join(rootDir, 'checkpoints', name)
}

/** Creates the folder for archives, with access for its owner only: real archives hold the containers' memory. */
export async function prepareCheckpointFolder(location: string): Promise<void> {
  const folder = dirname(location)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
}

/** Writes the archive of a container to `location`. */
export type WriteCheckpoint = (what: {
  pod: Pod
  container: RuntimeContainer
  location: string
}) => Promise<void>

/** Writes the archive with mode 0600, and renames it to its final name when it is complete. */
export async function writeCheckpointArchive(what: {
  pod: Pod
  container: RuntimeContainer
  location: string
}): Promise<void> {
  const { pod, container, location } = what
  const spec = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].find(
    ({ name }) => name === container.name,
  )
  const files: Record<string, unknown> = {
    'config.dump': {
      id: container.id,
      name: container.name,
      rootfsImage: spec?.image,
      rootfsImageRef: container.imageId,
      runtime: 'simulated',
      createdTime: new Date(container.state.startedMs).toISOString(),
      restored: false,
    },
    'spec.dump': {
      annotations: {
        namespace: pod.metadata.namespace,
        pod: pod.metadata.name,
        uid: pod.metadata.uid,
      },
      container: spec,
    },
    'checkpoint/inventory.img': {},
  }
  // The package is CommonJS: in a bundle, it has only a default export.
  const { default: tar } = await import('tar-stream')
  const archive = tar.pack()
  // A unique name: another request in the same second writes to the same location.
  const draft = `${location}.${randomUUID()}.partial`
  try {
    const written = pipeline(archive, createWriteStream(draft, { mode: 0o600 }))
    for (const [name, content] of Object.entries(files)) {
      archive.entry({ name, mode: 0o600 }, `${JSON.stringify(content, null, 2)}\n`)
    }
    archive.finalize()
    await written
    await replaceFile(draft, location)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
