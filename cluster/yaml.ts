/** YAML for kubeconfigs of users and manifests. The only file of this folder that imports a YAML package. */
import { dump, load, loadAll } from 'js-yaml'

/** One document as plain values. Throws an error whose message names line and column. */
export function parseYaml(text: string): unknown {
  return load(text)
}

/** All documents of a text. Throws as `parseYaml` does. */
export function parseYamlDocuments(text: string): unknown[] {
  return loadAll(text)
}

export function formatYaml(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true })
}
