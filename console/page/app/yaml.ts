/** yaml: YAML of objects, loaded when the first of it is shown. */
import { useEffect, useState } from 'preact/hooks'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

export interface Yaml {
  /** Throws an error whose message names line and column. */
  parse(text: string): unknown
  format(value: unknown): string
}

async function loadYaml(): Promise<Yaml> {
  const { load, yamlOf } = await import('../../../components/machinery/values/yaml.ts')
  return { parse: load, format: (value) => yamlOf(JSON.stringify(value)) }
}

/** Undefined until it is loaded. */
export function useYaml(): Yaml | undefined {
  const [yaml, setYaml] = useState<Yaml>()
  useEffect(() => {
    void loadYaml().then(setYaml)
  }, [])
  return yaml
}

/** The object without what only field management reads. */
export function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
