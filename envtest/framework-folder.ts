/**
 * FrameworkFolder: the temporary folders that envtest makes for a server's files and removes when it stops it
 * (upstream: controller-runtime pkg/internal/testing/process). A killed test leaves them to the server.
 */
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, resolve } from 'node:path'

/** As Go's os.MkdirTemp completes envtest's `k8s_test_framework_`. */
const frameworkName = /^k8s_test_framework_\d+$/

/** Whether envtest made the folder, and not a user, who may want to look at it. */
export function isFrameworkFolder(folder: string, temporary: string = tmpdir()): boolean {
  const path = resolve(folder)
  return frameworkName.test(basename(path)) && dirname(path) === resolve(temporary)
}

/** Removes the folder if envtest made it. Another server may still write to it. */
export async function removeFrameworkFolder(folder: string): Promise<void> {
  if (!isFrameworkFolder(folder)) return
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}
