/** Stages as tests write them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubernetesObject } from '../../library/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A Stage document; `spec` is YAML, without indentation. */
export function stage(name: string, spec: string): string {
  const lines = spec.trim().split('\n')
  return `apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: { name: ${name} }\nspec:\n${lines.map((line) => `  ${line}`).join('\n')}\n`
}

/** A file with these stages; gives its path. */
export function stageFile(...documents: readonly string[]): string {
  const file = join(temporaryFolder('stages'), 'stages.yaml')
  writeFileSync(file, documents.join('---\n'))
  return file
}

export const fakeNode = (name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, annotations: { 'kwok.x-k8s.io/node': 'fake' } },
})
