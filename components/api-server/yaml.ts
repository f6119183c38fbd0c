/** YAML in and out: the only file of the API server that imports a YAML package. Aliases and depth are bounded by the caller's size limit. */
import { dump as dumpYaml, load as loadYaml, CORE_SCHEMA } from 'js-yaml'

/** Parses one YAML document into JSON values. Throws the library's error, whose message names line and column. */
export function load(text: string): unknown {
  return loadYaml(text, { schema: CORE_SCHEMA })
}

export function dump(value: unknown): string {
  return dumpYaml(value, { lineWidth: -1, noRefs: true })
}
