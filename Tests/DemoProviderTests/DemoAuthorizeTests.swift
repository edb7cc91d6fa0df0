import CredentialCore
import DemoProvider
import LoopbackHTTP
import Platform
import StrictJSON
import TestSupport
import Testing

@Suite struct `The authorization endpoint of the demo provider` {
    @Test func `shows an accessible form`() throws {
        let demo = try Demo()
        let page = try demo.http.send("GET", demo.authorizeURL(["login_hint": "\"><script>@example.com"])).text
        for part in [
            "<html lang=\"en\">", "<label for=\"username\">", "<label for=\"password\">", "<main>", "<h1>",
        ] {
            #expect(page.contains(part))
        }
        #expect(!page.contains("<script"))
    }

    @Test func `redirects with state and code`() throws {
        let demo = try Demo()
        var robot = demo.alice()
        let url = try robot.run(demo.authorizeURL(["state": "a b+c&d"]), delivers: false)
        #expect(url.hasPrefix(Demo.redirect + "?state=a+b%2bc%26d&code=eyJraWQiOiJjcGltY29yZV8wOTI1MjAxNSIs"))
        #expect(Demo.answer(url)["state"] == "a b+c&d")
    }

    @Test func `shows the form again for a wrong password`() throws {
        let demo = try Demo()
        var robot = DemoSignIn(username: "alice@example.com", password: Secret("wrong"))
        let error = #expect(throws: CredentialError.self) { try robot.run(demo.authorizeURL(), delivers: false) }
        #expect(error?.code == .denied)
        let reply = try demo.post(demo.authorizeURL(), ["username": "alice@example.com", "password": "wrong"])
        #expect(reply.text.contains("role=\"alert\""))
    }

    @Test func `says that the user cancelled or forgot the password, as the real one does`() throws {
        let demo = try Demo()
        var robot = demo.alice()
        let cancelled = try robot.run(demo.authorizeURL(), act: .cancel, delivers: false)
        #expect(
            cancelled.hasPrefix(
                Demo.redirect + "?error=access_denied&error_description=AADB2C90091%3a+The+user+has+cancelled+"
                    + "entering+self-asserted+information.%0d%0aCorrelation+ID%3a+"))
        #expect(cancelled.hasSuffix("%0d%0aTimestamp%3a+2023-11-14+22%3a13%3a20Z%0d%0a&state=the-state"))
        let forgotten = try robot.run(demo.authorizeURL(), act: .forgotPassword, delivers: false)
        #expect(Demo.answer(forgotten)["error_description"]?.hasPrefix("AADB2C90118: ") == true)
    }

    @Test func `keeps a session in the browser, and prompt decides about it`() throws {
        let demo = try Demo()
        var robot = demo.alice()
        let needed = try robot.run(demo.authorizeURL(["prompt": "none"]), delivers: false)
        #expect(Demo.answer(needed)["error"] == "interaction_required")
        #expect(Demo.answer(needed)["error_description"]?.contains("AADB2C90077") == true)
        _ = try robot.run(demo.authorizeURL(), delivers: false)
        demo.clock.advance(60)
        let silent = try robot.run(demo.authorizeURL(["prompt": "none"]), delivers: false)
        let code = try #require(Demo.answer(silent)["code"])
        let claims = try Demo.claims(demo.redeem(code).object().text("id_token"))
        #expect(claims["auth_time"]?.integer == 1_700_000_000)
        #expect(claims["iat"]?.integer == 1_700_000_060)
        let again = try robot.run(demo.authorizeURL(["prompt": "login"]), delivers: false)
        let fresh = try Demo.claims(demo.redeem(#require(Demo.answer(again)["code"])).object().text("id_token"))
        #expect(fresh["auth_time"]?.integer == 1_700_000_060)
    }

    @Test func `forgets the session at the end-session endpoint`() throws {
        let demo = try Demo()
        let login = try demo.post(
            demo.authorizeURL(), ["username": "alice@example.com", "password": "alice's password"])
        let cookie = try #require(login.value(of: "set-cookie"))
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"))
        let headers = [("Cookie", String(cookie.prefix { $0 != ";" }))]
        let url = demo.authorizeURL(["prompt": "none"])
        #expect(try demo.http.send("GET", url, headers: headers).value(of: "location")?.contains("code=") == true)
        let target = FormFields([("post_logout_redirect_uri", Demo.redirect), ("state", "s")]).encoded()
        let left = try demo.http.send("GET", demo.endpoint("logout") + "?" + target, headers: headers)
        #expect(left.value(of: "location") == Demo.redirect + "?state=s")
        #expect(try demo.http.send("GET", url, headers: headers).value(of: "location")?.contains("90077") == true)
        #expect(demo.provider.counters.signOuts == 1)
    }

    @Test func `checks the target of a sign-out when a hint or a switch asks for it`() throws {
        let demo = try Demo()
        let url = demo.endpoint("logout") + "?post_logout_redirect_uri=https%3A%2F%2Fevil.example"
        #expect(try demo.http.send("GET", url).status == 302)
        #expect(try demo.http.send("GET", url + "&id_token_hint=x").status == 400)
        demo.provider.change { $0.checksSignOutTarget = true }
        #expect(try demo.http.send("GET", url).text.contains("AADB2C90006"))
    }

    @Test func `makes a user, changes a name, sets a password`() throws {
        let demo = try Demo()
        let carol = DemoSignIn(username: "Carol@example.com", password: Secret("one"))
        let signedUp = try demo.tokens(carol, policy: "b2c_1_sign_up", name: "Carol Example")
        let claims = try Demo.claims(signedUp.text("id_token"))
        #expect(claims.text("name") == "Carol Example")
        #expect(claims["newUser"]?.bool == true)
        #expect(claims["emails"] == ["carol@example.com"])
        #expect(throws: CredentialError.self) { try demo.tokens(carol, policy: "b2c_1_sign_up", name: "Again") }
        let renamed = try demo.tokens(carol, policy: "b2c_1_edit_profile", name: "C. Example")
        #expect(try Demo.claims(renamed.text("id_token")).text("name") == "C. Example")
        let reset = try demo.tokens(
            DemoSignIn(username: "carol@example.com", password: Secret("two")), policy: "b2c_1_reset")
        #expect(reset["refresh_token"] == nil, "resetting a password gives no refresh token")
        #expect(throws: CredentialError.self) { try demo.tokens(carol) }
    }

    @Test func `names the identity provider of the user`() throws {
        let demo = try Demo()
        let claims = try Demo.claims(demo.tokens(policy: "b2c_1_fb_sign_in").text("id_token"))
        #expect(claims.text("idp") == "facebook.com")
        #expect(claims.text("tfp") == "B2C_1_fb_sign_in")
    }

    @Test(
        arguments: [
            (["client_id": nil], "AADB2C90008"), (["client_id": "unknown"], "AADB2C90018"),
            (["redirect_uri": nil], "AADB2C90006"), (["redirect_uri": "https://evil.example/"], "AADB2C90006"),
            (["redirect_uri": "http://localhost:1/other"], "AADB2C90006"),
            (["redirect_uri": "http://localhost.evil.example"], "AADB2C90006"),
        ] as [([String: String?], String)])
    func `shows a page when the redirect is not to be trusted`(_ changes: [String: String?], _ number: String)
        throws
    {
        let demo = try Demo()
        let reply = try demo.http.send("GET", demo.authorizeURL(changes))
        #expect(reply.status == 400)
        #expect(reply.text.contains(number))
    }

    @Test(
        arguments: [
            (["response_type": "token"], "unsupported_response_type", "AADB2C90013"),
            (["response_mode": "telepathy"], "invalid_request", "AADB2C90014"),
            (["prompt": "maybe"], "invalid_request", "AADB2C90043"),
            (["scope": nil], "invalid_request", "AADB2C90010"),
            (["scope": "openid read"], "invalid_scope", "AADB2C90055"),
            (["scope": "https://other.example/read"], "invalid_scope", "AADB2C90117"),
            (
                ["scope": "\(Demo.client) https://exampleb2c.onmicrosoft.com/tasks/read"], "invalid_request",
                "AADB2C90146"
            ),
            (["code_challenge_method": "S512"], "invalid_request", "AADB2C90184"),
        ] as [([String: String?], String, String)])
    func `reports the error to the client`(_ changes: [String: String?], _ error: String, _ number: String) throws {
        let demo = try Demo()
        let location = try #require(demo.http.send("GET", demo.authorizeURL(changes)).value(of: "location"))
        let answer = Demo.answer(location)
        #expect(answer["error"] == error)
        #expect(answer["error_description"]?.hasPrefix(number + ": ") == true)
        #expect(answer["state"] == "the-state")
    }

    @Test func `wants a challenge when told so`() throws {
        let demo = try Demo { $0.switches.requiresPKCE = true }
        let reply = try demo.http.send("GET", demo.authorizeURL(["code_challenge": nil]))
        #expect(reply.value(of: "location")?.contains("AADB2C99059") == true)
    }

    @Test func `spoils the redirect in each way a switch names`() throws {
        let demo = try Demo()
        var robot = demo.alice()
        func answer(_ state: String) throws -> FormFields {
            Demo.answer(try robot.run(demo.authorizeURL(["state": state]), delivers: false))
        }
        demo.provider.change { $0.stateForm = .wrong }
        #expect(try answer("one")["state"] != "one")
        demo.provider.change { $0.stateForm = .ofAnotherSignIn }
        #expect(try answer("two")["state"] == "one")
        demo.provider.change {
            $0.stateForm = .correct
            $0.repeatsRedirectParameters = true
        }
        let twice = try answer("three")
        #expect(twice.values("code").count == 2 && twice.values("state") == ["three", "three"])
        demo.provider.change {
            $0.repeatsRedirectParameters = false
            $0.codeSize = 64 << 10
        }
        #expect(try answer("four")["code"]?.utf8.count ?? 0 >= 64 << 10)
    }

    @Test(arguments: ["query", "fragment", "form_post"])
    func `reaches a real redirect listener in each response mode`(_ mode: String) throws {
        let demo = try Demo { $0.switches.codeSize = 16 << 10 }
        let listener = try RedirectListener(path: "/", random: SystemRandom())
        let origin = demo.base
        let waiting = Background {
            let url = try listener.wait(seconds: 60, formPostOrigins: [origin]) {
                FormFields(query: URI($0)?.query)["state"] == "the-state"
            }
            listener.show(title: "signed in", text: "")
            return url
        }
        var robot = demo.alice()
        let url = demo.authorizeURL(["redirect_uri": listener.redirectURI, "response_mode": mode])
        _ = try robot.run(url)
        let code = try #require(Demo.answer(waiting.value())["code"])
        let reply = try demo.redeem(code, ["redirect_uri": listener.redirectURI])
        #expect(try reply.object()["access_token"] != nil)
    }

    @Test func `ends at the out-of-band address`() throws {
        let demo = try Demo()
        var robot = demo.bob()
        let url = try robot.run(demo.authorizeURL(["redirect_uri": "urn:ietf:wg:oauth:2.0:oob"]))
        #expect(url.hasPrefix("urn:ietf:wg:oauth:2.0:oob?state=the-state&code="))
    }

    @Test func `has no page for the password policy`() throws {
        let demo = try Demo()
        let reply = try demo.http.send("GET", demo.authorizeURL(policy: "b2c_1_ropc"))
        #expect(reply.value(of: "location")?.contains("unauthorized_client") == true)
    }
}
