/** AdmissionConfiguration: the configuration of each admission plugin, inline or in a file of its own (upstream: apiserver/pkg/admission/config.go). */
import { readFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import type { Schema } from '../../machinery/schema/schema.ts'
import { document, list, struct, text } from '../../machinery/configuration/config-schema.ts'
import {
  ConfigurationError,
  readConfiguration,
} from '../../machinery/configuration/read-configuration.ts'

const anything: Schema = { kind: 'JSON', goType: 'runtime.Unknown' }

const schema = document('AdmissionConfiguration', {
  plugins: list(
    struct('AdmissionPluginConfiguration', { name: text, path: text, configuration: anything }),
  ),
})

interface RawConfiguration {
  readonly plugins?: readonly {
    readonly name?: string
    readonly path?: string
    readonly configuration?: unknown
  }[]
}

/** The configuration of one plugin. */
export interface PluginConfiguration {
  /** The plugin's name. */
  readonly plugin: string
  /** A document of the plugin's own kind, as text. */
  readonly source: string
  /** Its place, for messages: `plugins[0].configuration`, or the path of a file of its own. */
  readonly place: string
  /** The folder of its file: relative paths in it start there. */
  readonly folder: string
}

function read(path: string, at: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigurationError(`${at}: cannot read ${path}: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** Every plugin's configuration, with the files it names read. Throws ConfigurationError, whose message names the place. */
export function readAdmissionConfiguration(path: string, dialect: Dialect): PluginConfiguration[] {
  const { plugins = [] } = readConfiguration<RawConfiguration>(read(path, 'the file'), {
    kind: 'AdmissionConfiguration',
    group: apiGroup(dialect, 'apiserver.config'),
    versions: ['v1'],
    schema,
  })
  return plugins.flatMap(({ name = '', path: own = '', configuration }, i) => {
    const at = `plugins[${i}]`
    if (name === '') throw new ConfigurationError(`${at}.name: Required value`)
    const isFirst = plugins.findIndex((one) => one.name === name) === i
    if (!isFirst) throw new ConfigurationError(`${at}.name: Duplicate value: "${name}"`)
    if (own !== '') {
      const file = isAbsolute(own) ? own : join(dirname(path), own)
      return [
        { plugin: name, source: read(file, `${at}.path`), place: file, folder: dirname(file) },
      ]
    }
    if (configuration === undefined || configuration === null) return []
    const source = JSON.stringify(configuration)
    return [{ plugin: name, source, place: `${at}.configuration`, folder: dirname(path) }]
  })
}
