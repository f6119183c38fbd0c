/** The API server's process. */
import { runComponent } from '../component-base/component.ts'
import { runApiServer } from './start/api-server.ts'
import { apiServer } from './configuration/options.ts'

void runComponent({
  ...apiServer,
  run: runApiServer,
})
