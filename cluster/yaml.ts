/** YAML of kubeconfigs and manifests. With line numbers: located-yaml.ts. */
import { CORE_SCHEMA, dump, loadAll } from 'js-yaml'
import { load } from '../components/machinery/values/yaml.ts'

/** One document as JSON values; its size is bounded. Throws an error whose message names line and column. */
export function parseYaml(text: string): unknown {
  return load(text)
}

/** All documents of a text as JSON values. Throws as `parseYaml` does. */
export function parseYamlDocuments(text: string): unknown[] {
  return loadAll(text, { schema: CORE_SCHEMA })
}

/** Keeps the order of fields, which a user's kubeconfig has to keep. */
export function formatYaml(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true })
}
