/** YAML for the cluster's own files: kubeconfigs of users. The only file of this folder that imports a YAML package. */
import { dump, load } from 'js-yaml'

/** One document as plain values. Throws an error whose message names line and column. */
export function parseYaml(text: string): unknown {
  return load(text)
}

export function formatYaml(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true })
}
