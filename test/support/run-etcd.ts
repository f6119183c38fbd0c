/**
 * With TEST_STORE=etcd the clusters of the end-to-end tests, and servers that tests start in their process, keep their state in one
 * etcd for the whole run, each below a prefix of its own. For `globalSetup`.
 */
import { inject } from 'vitest'
import type { TestProject } from 'vitest/node'
import { startEtcd, type TestEtcd } from './etcd.ts'
import { removeTemporaryFolders } from './temporary-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the etcd of the run; empty: the stores are what the tests say. */
    etcdUrl: string
  }
}

let etcd: TestEtcd | undefined

export async function setup(project: TestProject): Promise<void> {
  const { TEST_STORE: store = '' } = process.env
  if (!['', 'etcd'].includes(store)) throw new Error(`TEST_STORE=${store}: only etcd is known`)
  if (store === 'etcd') etcd = await startEtcd()
  project.provide('etcdUrl', etcd?.url ?? '')
}

export async function teardown(): Promise<void> {
  if (etcd === undefined) return
  await etcd.kill()
  removeTemporaryFolders()
}

let prefixes = 0

/** The address of the etcd of the run, and a prefix that no other cluster has; undefined: there is none. */
export function placeInEtcd(): { url: string; prefix: string } | undefined {
  const url = inject('etcdUrl')
  prefixes += 1
  return url === '' ? undefined : { url, prefix: `/run/${process.pid}/${prefixes}` }
}
